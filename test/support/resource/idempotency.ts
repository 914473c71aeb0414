import { randomUUID } from 'node:crypto';
import { expectRejected, expectStatus } from './checked-client.js';
import type { ResourceUnderTest } from './resource-under-test.js';

/** Tests `Idempotency-Key` of POST. */
export function describeIdempotency(resource: ResourceUnderTest): void {
  const { create } = resource.contract;
  const keyed = () => ({ 'idempotency-key': randomUUID() });

  describe('Idempotency-Key', () => {
    beforeEach(() => resource.empty());

    it('POST that is repeated returns the first response again, and stores nothing', async () => {
      const body = resource.next(create);
      const headers = keyed();
      const first = await resource.post(body, headers);
      expectStatus(first, 201);
      const second = await resource.unchanged(() => resource.post(body, headers));
      expectStatus(second, 201);
      expect(second.text).toBe(first.text);
      for (const name of ['location', 'etag']) expect(second.headers.get(name)).toBe(first.headers.get(name));
      expect([first, second].map((each) => each.headers.get('idempotency-replayed'))).toEqual([null, 'true']);
    });

    it('POST with another body and the key of an earlier one returns 422', async () => {
      const body = resource.next(create);
      const headers = keyed();
      expectStatus(await resource.post(body, headers), 201);
      const other = Object.fromEntries(Object.entries(body).reverse());
      // A body with one property cannot have another order.
      const sent = Object.keys(body).length > 1 ? other : `${JSON.stringify(body)} `;
      const rejected = await resource.unchanged(() => resource.post(sent, headers));
      expectRejected(rejected, 422, 'IDEMPOTENCY_KEY_REUSED');
    });
  });
}
