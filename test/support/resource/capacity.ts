import type { Id } from '../../../src/resource/id-kinds.js';
import { expectRejected, expectStatus, tally } from './checked-client.js';
import { ids, inOrder } from './pages.js';
import type { ResourceUnderTest } from './resource-under-test.js';

/** Tests 507, and an exact capacity under concurrency. */
export function describeCapacity(resource: ResourceUnderTest): void {
  const { replace, patch } = resource.contract;
  const many = <T>(count: number, work: () => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: count }, work));

  describe('the capacity', () => {
    beforeEach(() => resource.empty());

    it('POST returns 507 when the storage is full, and changes nothing; GET, PUT and PATCH go on', async () => {
      await resource.withCapacity(1, async () => {
        const { path } = await resource.create();
        const rejected = await resource.unchanged(() => resource.post());
        expectRejected(rejected, 507, 'STORAGE_FULL');
        expect(rejected.body).toEqual({
          statusCode: 507,
          error: 'Insufficient Storage',
          message: 'Storage is full',
          errorCode: 'STORAGE_FULL',
          requestId: rejected.headers.get('x-request-id'),
        });
        expect(rejected.headers.get('retry-after')).toBeNull();
        expect(rejected.headers.get('location')).toBeNull();
        expectStatus(await resource.get(path), 200);
        expectStatus(await resource.request('PUT', path, { body: replace }), 200);
        expectStatus(await resource.request('PATCH', path, { body: patch }), 204);
      });
    });

    it('25 of 100 racing POSTs return 201 when there are 25 places, and the others 507', async () => {
      await resource.withCapacity(25, async () => {
        const responses = await many(100, () => resource.post());
        expect(tally(responses)).toEqual({ 201: 25, 507: 75 });
        const list = await resource.get(resource.path);
        const created = responses.filter(({ status }) => status === 201).map(({ body }) => body.id as Id);
        expect(created).toHaveLength(25);
        expect(ids(list)).toEqual(inOrder(created));
        expect(list.headers.get('x-total-count')).toBe('25');
      });
    });

    it('POST returns 201 once for each record that is deleted; two DELETEs of one record free one place', async () => {
      await resource.withCapacity(2, async () => {
        const { path } = await resource.create();
        await resource.create();
        expectRejected(await resource.post(), 507, 'STORAGE_FULL');
        await many(2, () => resource.request('DELETE', path));
        expect(tally(await many(3, () => resource.post()))).toEqual({ 201: 1, 507: 2 });
      });
    });

    it('is never exceeded, nor a place lost, while 8 clients create and delete', async () => {
      const comeAndGo = async (): Promise<void> => {
        for (let turn = 0; turn < 4; turn++) {
          const created = await resource.post();
          expect([201, 507]).toContain(created.status);
          const { headers } = await resource.request('HEAD', resource.path);
          expect(Number(headers.get('x-total-count'))).toBeLessThanOrEqual(5);
          if (created.status === 507) continue;
          expectStatus(await resource.request('DELETE', created.headers.get('location')!), 204);
        }
      };
      await resource.withCapacity(5, async () => {
        await many(8, comeAndGo);
        expect(tally(await many(6, () => resource.post()))).toEqual({ 201: 5, 507: 1 });
      });
    });

    it('of 0 makes every POST 507', async () => {
      await resource.withCapacity(0, async () => expectRejected(await resource.post(), 507, 'STORAGE_FULL'));
    });

    it('below the number of records makes POST 507 until deletes have made room, and changes nothing', async () => {
      const stored = [await resource.create(), await resource.create(), await resource.create()];
      await resource.withCapacity(2, async () => {
        for (const { path } of stored.slice(0, 2)) {
          expectRejected(await resource.post(), 507, 'STORAGE_FULL');
          expectStatus(await resource.request('DELETE', path), 204);
        }
        expect((await resource.get(resource.path)).body).toEqual([stored[2]!.record]);
        expectStatus(await resource.post(), 201);
        expectRejected(await resource.post(), 507, 'STORAGE_FULL');
      });
    });
  });
}
