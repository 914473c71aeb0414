import type { Id } from '../../../src/resource/id-kinds.js';
import { expectPlainHeaders } from '../expect-error.js';
import { expectRejected, expectStatus, tally } from './checked-client.js';
import { inOrder } from './pages.js';
import { extremeValues } from './property-values.js';
import type { Body } from './resource-contract.js';
import type { ResourceUnderTest } from './resource-under-test.js';

const STRONG_ETAG = /^"[\x21\x23-\x7e]+"$/;
const JSON_TYPE = 'application/json; charset=utf-8';

/** Tests POST, GET, PUT, PATCH and DELETE of one record. */
export function describeOneRecord(resource: ResourceUnderTest): void {
  const { create, replace, patch, ruled = [], ownReferences } = resource.contract;
  const changing = Object.keys(replace).filter((name) => !ownReferences.includes(name));
  const changed = { ...patch, ...some(replace, changing) };

  /** Whether the body of PUT has all properties of the record but the id. */
  const isWhole = (record: Body): boolean => Object.keys(record).every((name) => name === 'id' || name in replace);

  describe('one record', () => {
    beforeEach(() => resource.empty());

    const etags = async (path: string): Promise<string[]> => [
      await resource.etagOf(path),
      await resource.etagOf(resource.path),
    ];

    it('POST returns 201 with the record, its Location and its ETag', async () => {
      const sent = resource.next(create);
      const response = await resource.post(sent);
      expectStatus(response, 201);
      const { id } = response.body;
      expect(response.body).toEqual({ id, ...sent, ...resource.ofService(response.body) });
      expect(response.headers.get('content-type')).toBe(JSON_TYPE);
      expect(response.headers.get('location')).toBe(`${resource.path}/${id}`);
      expect(response.headers.get('etag')).toMatch(STRONG_ETAG);
      expectPlainHeaders(response.headers);
    });

    it('GET returns the record of POST, also by its id in percent-encoding, and the list has an equal record', async () => {
      const created = await resource.create();
      const read = await resource.get(created.path);
      expectStatus(read, 200);
      expect(read.body).toEqual(created.record);
      expect(read.headers.get('content-type')).toBe(JSON_TYPE);
      expect(read.headers.get('etag')).toBe(created.etag);
      const encoded = `${resource.path}/${String(created.id).replace(/[0-9]/g, (digit) => `%3${digit}`)}`;
      expect((await resource.get(encoded)).text).toBe(read.text);
      // The engine makes the JSON of lists: a fraction of 0 is 0.0 there, but the order of properties is equal.
      expect(JSON.stringify((await resource.get(resource.path)).body)).toBe(`[${read.text}]`);
    });

    it('PUT returns 200 with the record, which GET returns from then on, with a new ETag', async () => {
      const { path, etag, record } = await resource.create();
      const replaced = await resource.request('PUT', path, { body: replace });
      expectStatus(replaced, 200);
      expect(replaced.body).toEqual({ ...record, ...replace, ...resource.ofService(replaced.body) });
      const read = await resource.get(path);
      expect(read.body).toEqual(replaced.body);
      expect(read.headers.get('etag')).not.toBe(etag);
      // The record must be stored as it was sent (RFC 9110 section 9.3.4).
      expect(replaced.headers.get('etag')).toBe(isWhole(record) ? read.headers.get('etag') : null);
    });

    it('PUT that is repeated returns an equal response, and leaves the ETags of record and list unchanged', async () => {
      const { path } = await resource.create();
      const first = await resource.request('PUT', path, { body: replace });
      const before = await etags(path);
      const second = await resource.request('PUT', path, { body: replace });
      expectStatus(second, 200);
      expect(second.text).toBe(first.text);
      expect(await etags(path)).toEqual(before);
    });

    it.each(changesIn(changed, ruled))(
      'PATCH returns 204 with a new ETag, and changes only the sent properties: %s',
      async (_name, body: Body) => {
        const { path, etag, record } = await resource.create();
        const patched = await resource.request('PATCH', path, { body });
        expectStatus(patched, 204);
        expect(patched.text).toBe('');
        expect(patched.headers.get('content-type')).toBeNull();
        expect(patched.headers.get('etag')).toMatch(STRONG_ETAG);
        expect(patched.headers.get('etag')).not.toBe(etag);
        const after = await resource.get(path);
        expect(after.body).toEqual({ ...record, ...body, ...resource.ofService(after.body) });
        expect(after.headers.get('etag')).toBe(patched.headers.get('etag'));
      },
    );

    it('PATCH accepts a body of type application/merge-patch+json', async () => {
      const { path, record } = await resource.create();
      const headers = { 'content-type': 'application/merge-patch+json' };
      expectStatus(await resource.request('PATCH', path, { body: patch, headers }), 204);
      const { body: after } = await resource.get(path);
      expect(after).toEqual({ ...record, ...patch, ...resource.ofService(after) });
    });

    it.each([
      ['is empty', []],
      ['has the values that are stored', Object.keys(replace)],
    ])('PATCH whose body %s returns 204, and leaves the ETags of record and list unchanged', async (_what, names) => {
      const { path, etag, record } = await resource.create();
      const before = await etags(path);
      const patched = await resource.request('PATCH', path, { body: some(record, names) });
      expectStatus(patched, 204);
      expect(patched.headers.get('etag')).toBe(etag);
      expect(await etags(path)).toEqual(before);
    });

    it('GET returns a new ETag after a change that is changed back', async () => {
      const { path, etag, record } = await resource.create();
      for (const body of [patch, some(record, Object.keys(patch))]) {
        expectStatus(await resource.request('PATCH', path, { body }), 204);
      }
      const read = await resource.get(path);
      expect(read.body).toEqual({ ...record, ...resource.ofService(read.body) });
      expect(read.headers.get('etag')).not.toBe(etag);
    });

    it('GET returns the same ETag while other records change', async () => {
      const { path, etag } = await resource.create();
      const other = await resource.create();
      expectStatus(await resource.request('PATCH', other.path, { body: patch }), 204);
      expectStatus(await resource.request('DELETE', other.path), 204);
      expect(await resource.etagOf(path)).toBe(etag);
    });

    it('GET of the list returns a new ETag after each POST, PUT, PATCH and DELETE', async () => {
      const seen = [await resource.etagOf(resource.path)];
      const { path } = await resource.create();
      seen.push(await resource.etagOf(resource.path));
      const back = some(create, Object.keys(patch));
      for (const [method, body] of [['PUT', replace], ['PATCH', back], ['DELETE']] as const) {
        await resource.request(method, path, { body });
        seen.push(await resource.etagOf(resource.path));
      }
      expect(new Set(seen).size).toBe(5);
    });

    it('DELETE returns 204, and from then on every method 404', async () => {
      const { path } = await resource.create();
      const deleted = await resource.request('DELETE', path);
      expectStatus(deleted, 204);
      expect(deleted.text).toBe('');
      for (const [method, body] of [['DELETE'], ['GET'], ['PUT', replace], ['PATCH', {}]] as const) {
        expectRejected(await resource.request(method, path, { body }), 404, resource.notFoundCode);
      }
      expect((await resource.get(resource.path)).text).toBe('[]');
    });

    it('DELETE with a JSON content type and no body returns 204, as some clients send it', async () => {
      const { path } = await resource.create();
      const headers = { 'content-type': 'application/json' };
      expectStatus(await resource.request('DELETE', path, { headers }), 204);
    });

    it('one of 20 racing DELETEs returns 204, and the others 404', async () => {
      const { path } = await resource.create();
      const responses = await Promise.all(Array.from({ length: 20 }, () => resource.request('DELETE', path)));
      expect(tally(responses)).toEqual({ 204: 1, 404: 19 });
      expect((await resource.get(resource.path)).headers.get('x-total-count')).toBe('0');
    });

    it('POST never gives an id again', async () => {
      const ids: Id[] = [];
      for (let count = 0; count < 3; count++) {
        const { id, path } = await resource.create();
        ids.push(id);
        expectStatus(await resource.request('DELETE', path), 204);
      }
      expect(ids).toEqual(inOrder(ids));
    });
  });

  describeOptional(resource);
  describeValues(resource);
}

/** Tests properties that a body may omit. */
function describeOptional(resource: ResourceUnderTest): void {
  const { create, replace, patch } = resource.contract;

  it('a property that may be absent has its default or is null: after POST and PUT without it, and after PATCH', async () => {
    const { document } = resource;
    const { required = [], properties } = document.resolve(document.bodySchema('post', resource.path));
    const optional = Object.keys(create).filter((name) => !required.includes(name));
    const absent = Object.fromEntries(optional.map((name) => [name, properties[name].default ?? null]));
    const without = (body: Body): Body =>
      Object.fromEntries(Object.entries(body).filter(([name]) => !optional.includes(name)));
    const sent = without(resource.next(create));
    const created = await resource.post(sent);
    expectStatus(created, 201);
    const { id, ...ofService } = { id: created.body.id, ...resource.ofService(created.body) };
    expect(created.body).toEqual({ id, ...sent, ...absent, ...ofService });
    const path = created.headers.get('location')!;
    await resource.request('PATCH', path, { body: patch });
    const replaced = await resource.request('PUT', path, { body: without(replace) });
    expect(replaced.body).toMatchObject({ id, ...without(replace), ...absent });
    await resource.request('PUT', path, { body: replace });
    const changeable = document.resolve(document.bodySchema('patch', `${resource.path}/{id}`)).properties;
    const cleared = Object.fromEntries(Object.entries(absent).filter(([name]) => name in changeable));
    expectStatus(await resource.request('PATCH', path, { body: cleared }), 204);
    expect((await resource.get(path)).body).toMatchObject({ id, ...replace, ...cleared });
  });
}

/** Tests each value that a property may have: the limits of its range, and other spellings. */
function describeValues(resource: ResourceUnderTest): void {
  it('a property has each value that the document allows, as it is sent or in its normalised spelling', async () => {
    await resource.empty();
    const { path } = await resource.create();
    const schema = resource.document.resolve(resource.document.bodySchema('patch', `${resource.path}/{id}`));
    const resolve = (each: any): any => resource.document.resolve(each);
    const { references, ownReferences, patch, ruled = [] } = resource.contract;
    const others = [...Object.keys(references), ...ownReferences, ...ruled];
    const names = Object.keys(schema.properties).filter((each) => !others.includes(each));
    for (const name of names) {
      for (const [sent, stored] of extremeValues(schema.properties[name], resolve)) {
        const answer = await resource.request('PATCH', path, { body: { [name]: sent } });
        expectStatus(answer, 204);
        const read = await resource.get(path);
        expect([name, sent, read.body[name]]).toEqual([name, sent, stored]);
        expect((await resource.get(resource.path)).body).toEqual([read.body]);
      }
    }
    expectStatus(await resource.request('PATCH', path, { body: patch }), 204);
  });
}

const some = (record: Body, names: readonly string[]): Body =>
  Object.fromEntries(names.map((name) => [name, record[name]]));

/** Changes of one property at a time, except for some, and of all together. */
const changesIn = (body: Body, except: readonly string[]): [name: string, changes: Body][] => [
  ...Object.keys(body)
    .filter((name) => !except.includes(name))
    .map((name): [string, Body] => [name, { [name]: body[name] }]),
  ['all', body],
];
