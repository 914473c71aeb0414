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

    it('POST that is repeated returns the first response when the storage is full', async () => {
      const body = resource.next(create);
      const headers = keyed();
      const first = await resource.post(body, headers);
      await resource.withCapacity(1, async () => {
        expect((await resource.post(body, headers)).text).toBe(first.text);
        expectRejected(await resource.post(resource.next(create), keyed()), 507, 'STORAGE_FULL');
      });
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

    it('POST that was rejected can be corrected and sent with its key again', async () => {
      const headers = keyed();
      expectRejected(await resource.post('{}}', headers), 400, 'MALFORMED_JSON');
      expectStatus(await resource.post(undefined, headers), 201);
    });

    it('POST whose key is not valid returns 400', async () => {
      const rejected = await resource.unchanged(() => resource.post(undefined, { 'idempotency-key': 'not valid' }));
      expectRejected(rejected, 400, 'INVALID_REQUEST');
      expect(rejected.body.details).toEqual([{ parameter: 'Idempotency-Key', message: expect.any(String) }]);
    });
  });
}
