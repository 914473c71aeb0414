import { expectRejected, expectStatus } from './checked-client.js';
import { MISSING, type ResourceUnderTest } from './resource-under-test.js';

/** Tests properties that refer to another resource, or to the resource itself. */
export function describeReferences(resource: ResourceUnderTest): void {
  const { references, ownReferences, replace } = resource.contract;
  const all = [...Object.entries(references), ...ownReferences.map((name) => [name, resource.path] as const)];
  if (all.length === 0) return;
  // SQLite does not report which of several references is missing.
  const isOnly = all.length === 1;

  describe.each(all)('%s, which refers to a record of %s', (name, parent) => {
    beforeEach(() => resource.empty());

    it('makes POST, PUT and PATCH 400 when there is no such record', async () => {
      const { path } = await resource.create();
      const missing = parent === resource.path ? resource.greatestId : resource.idOf(parent, MISSING);
      const values = { [name]: missing };
      await resource.unchanged(async () => {
        for (const response of [
          await resource.post({ ...resource.next(resource.contract.create), ...values }),
          await resource.request('PUT', path, { body: { ...resource.next(replace), ...values } }),
          await resource.request('PATCH', path, { body: values }),
        ]) {
          expectRejected(response, 400, 'REFERENCE_NOT_FOUND');
          if (isOnly) expect(response.body.details).toMatchObject([{ pointer: `/${name}` }]);
        }
      });
    });

    // Its own resource has no records whose ids are known.
    const some = parent === resource.path ? it.skip : it;
    some('makes only this POST 400 among others that arrive with it', async () => {
      const missing = { [name]: resource.idOf(parent, MISSING) };
      const responses = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          resource.post({ ...resource.next(resource.contract.create), ...(index % 4 < 2 ? {} : missing) }),
        ),
      );
      expect(responses.map(({ status }) => status)).toEqual(responses.map((_, index) => (index % 4 < 2 ? 201 : 400)));
      const { headers, body } = await resource.get(resource.path);
      expect([body.length, headers.get('x-total-count')]).toEqual([10, '10']);
    });

    it('makes DELETE of the record that it names 409 until it is gone', async () => {
      const made = await resource.request('POST', parent, { body: resource.exampleOf(parent) });
      expectStatus(made, 201);
      const target = made.headers.get('location')!;
      const { path } = await resource.create({ [name]: made.body.id });
      expectRejected(await resource.request('DELETE', target), 409, 'STILL_REFERENCED');
      expectStatus(await resource.get(target), 200);
      expectStatus(await resource.request('DELETE', path), 204);
      expectStatus(await resource.request('DELETE', target), 204);
    });
  });
}
