import { expectRejected, expectStatus, tally } from './checked-client.js';
import type { ResourceUnderTest } from './resource-under-test.js';

/** Tests unique values. Does nothing for a resource without them. */
export function describeUniqueness(resource: ResourceUnderTest): void {
  const { create } = resource.contract;

  describe('a unique value', () => {
    beforeEach(() => resource.empty());

    it('makes POST, PUT and PATCH 409 with a pointer to each property, until the other record is gone', async () => {
      for (const key of resource.keys) {
        const taken = await resource.create();
        const { path } = await resource.create();
        const same = Object.fromEntries(key.map((name) => [name, taken.record[name]]));
        await resource.unchanged(async () => {
          for (const response of [
            await resource.post({ ...resource.next(create), ...same }),
            await resource.request('PUT', path, { body: { ...resource.next(resource.contract.replace), ...same } }),
            await resource.request('PATCH', path, { body: same }),
          ]) {
            expectRejected(response, 409, 'ALREADY_EXISTS');
            const pointers = response.body.details.map(({ pointer }: { pointer: string }) => pointer);
            expect([response.request, ...pointers]).toEqual([response.request, ...key.map((name) => `/${name}`)]);
            for (const name of key) expect(response.body.message).toContain(name);
          }
        });
        expectStatus(await resource.request('DELETE', taken.path), 204);
        expectStatus(await resource.request('PATCH', path, { body: same }), 204);
      }
    });

    it('is given to one of 20 racing POSTs, and others that arrive with them are stored', async () => {
      for (const _ of resource.keys) {
        const same = resource.next(create);
        const posts = Array.from({ length: 20 }, () => [resource.post(same), resource.post()]).flat();
        expect(tally(await Promise.all(posts))).toEqual({ 201: 21, 409: 19 });
      }
    });
  });
}
