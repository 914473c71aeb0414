import { expectStatus } from './checked-client.js';
import { follow, ids } from './pages.js';
import type { ResourceUnderTest } from './resource-under-test.js';

/** Tests lists and their pages while other clients write. */
export function describeConcurrentLists(resource: ResourceUnderTest): void {
  const { path } = resource;

  describe('the list while others write', () => {
    beforeEach(async () => {
      await resource.empty();
      await resource.create();
      await resource.fillTo(60);
    });

    /**
     * Runs `work` while four clients create and delete.
     * @returns number of writes
     */
    async function whileOthersWrite(work: () => Promise<void>): Promise<number> {
      let [writing, written] = [true, 0];
      const write = async (): Promise<void> => {
        while (writing) {
          const { path: made } = await resource.create();
          expectStatus(await resource.request('DELETE', made), 204);
          written++;
        }
      };
      return resource.withCapacity(1000, async () => {
        const writers = Promise.all(Array.from({ length: 4 }, write));
        try {
          await work();
        } finally {
          writing = false;
          await writers;
        }
        return written;
      });
    }

    it.each(['', '&sort=-id'])('GET of pages by limit=7%s has every record that stays, once', async (sort) => {
      const before = ids(await resource.get(path));
      const written = await whileOthersWrite(async () => {
        const seen = (await follow(resource, `${path}?limit=7${sort}`)).flatMap(ids);
        expect(seen).toEqual([...new Set(seen)]);
        const stayed = seen.filter((id) => before.includes(id));
        expect(sort === '' ? stayed : stayed.reverse()).toEqual(before);
      });
      // Without concurrent writes, the test would prove nothing.
      expect(written).toBeGreaterThan(0);
    });

    it('GET returns as many records as X-Total-Count says', async () => {
      const etags = new Set<string | null>();
      await whileOthersWrite(async () => {
        for (let count = 0; count < 12; count++) {
          const list = await resource.get(path);
          expect(list.body).toHaveLength(Number(list.headers.get('x-total-count')));
          etags.add(list.headers.get('etag'));
        }
      });
      expect(etags.size).toBeGreaterThan(1);
      expect((await resource.get(path)).body).toHaveLength(60);
    });
  });
}
