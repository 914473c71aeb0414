import { expectPlainHeaders } from '../expect-error.js';
import { expectRejected, expectStatus, tally } from './checked-client.js';
import type { Body } from './resource-contract.js';
import type { ResourceUnderTest } from './resource-under-test.js';

type Field = readonly [name: string, field: (etag: string) => string];

const MATCHING: readonly Field[] = [
  ['the ETag', (etag) => etag],
  ['any version (*)', () => '*'],
  ['a list of tags with it', (etag) => `"other", ${etag}`],
];
const WEAKLY_MATCHING: readonly Field[] = [
  ...MATCHING,
  ['the ETag made weak by a proxy', (etag) => `W/${etag}`],
  ['a list with it between weak tags', (etag) => `"other", W/"another,one" ,${etag}`],
  ['a list with it as a weak tag', (etag) => `"x",W/${etag}, "y"`],
];
const NOT_MATCHING: readonly Field[] = [
  ['another tag', () => '"other"'],
  ['a weak tag, which never matches', (etag) => `W/${etag}`],
  ['a weak tag in lower case, which is no tag', (etag) => `w/${etag}`],
  ['a list without it', () => '"a", "b"'],
  ['a tag without its quotes', (etag) => etag.slice(1, -1)],
  ['a tag with text behind its quotes', (etag) => `${etag}x`],
];

/** Tests If-Match, If-None-Match, 304, 412 and 428. */
export function describePreconditions(resource: ResourceUnderTest): void {
  describeWrites(resource);
  describeReads(resource);
}

function describeWrites(resource: ResourceUnderTest): void {
  const { replace, patch } = resource.contract;
  const writes: readonly [method: string, body: Body | undefined, status: number][] = [
    ['PUT', replace, 200],
    ['PATCH', patch, 204],
    ['PATCH', {}, 204],
    ['DELETE', undefined, 204],
  ];

  describe.each(writes)('%s with body %j', (method, values, status) => {
    let body: Body | undefined;
    // All methods read the fields in one way, so one method has every spelling.
    const spellings = (fields: readonly Field[]): readonly Field[] => (method === 'PUT' ? fields : fields.slice(0, 2));

    beforeAll(() => resource.empty());

    beforeEach(() => {
      body = resource.next(values);
    });

    /** Sends the write with a precondition, and expects 412 and an unchanged record. */
    async function expectStopped(name: string, field: (etag: string) => string): Promise<void> {
      const { path, etag } = await resource.create();
      const before = await resource.get(path);
      const response = await resource.request(method, path, { body, headers: { [name]: field(etag) } });
      expectRejected(response, 412, 'PRECONDITION_FAILED');
      const after = await resource.get(path);
      expect([after.text, after.headers.get('etag')]).toEqual([before.text, etag]);
    }

    it.each(spellings(MATCHING))(`returns ${status} when If-Match is %s`, async (_name, field) => {
      const { path, etag } = await resource.create();
      expectStatus(await resource.request(method, path, { body, headers: { 'if-match': field(etag) } }), status);
    });

    it.each(spellings(NOT_MATCHING))('returns 412 when If-Match is %s, and changes nothing', async (_name, field) => {
      await expectStopped('if-match', field);
    });

    it('returns 412 when If-Match is the ETag that the record had before a change', async () => {
      const { path, etag } = await resource.create();
      expectStatus(await resource.request('PATCH', path, { body: resource.next(patch) }), 204);
      const response = await resource.request(method, path, { body, headers: { 'if-match': etag } });
      expectRejected(response, 412, 'PRECONDITION_FAILED');
      expectStatus(await resource.get(path), 200);
    });

    // The comparison is weak, and the method is not performed (RFC 9110 section 13.1.2).
    it.each(spellings(WEAKLY_MATCHING))(
      'returns 412 when If-None-Match is %s, and changes nothing',
      async (_name, field) => {
        await expectStopped('if-none-match', field);
      },
    );

    it(`returns ${status} when If-None-Match is another tag`, async () => {
      const { path } = await resource.create();
      const headers = { 'if-none-match': '"other"' };
      expectStatus(await resource.request(method, path, { body, headers }), status);
    });

    it('returns 404 if there is no record, whatever If-Match is', async () => {
      for (const field of ['*', '"other"']) {
        const response = await resource.request(method, resource.nowhere, { body, headers: { 'if-match': field } });
        expectRejected(response, 404, resource.notFoundCode);
      }
    });

    it('returns 428 without If-Match if the service requires it, and with If-Match the usual response', async () => {
      await resource.requiringIfMatch(async () => {
        const { path, etag } = await resource.create();
        expectRejected(await resource.request(method, path, { body }), 428, 'PRECONDITION_REQUIRED');
        const other = await resource.request(method, path, { body, headers: { 'if-none-match': '"other"' } });
        expectRejected(other, 428, 'PRECONDITION_REQUIRED');
        expect(await resource.etagOf(path)).toBe(etag);
        const stale = await resource.request(method, path, { body, headers: { 'if-match': '"stale"' } });
        expectRejected(stale, 412, 'PRECONDITION_FAILED');
        expectStatus(await resource.request(method, path, { body, headers: { 'if-match': etag } }), status);
        expectRejected(await resource.request(method, resource.nowhere, { body }), 404, resource.notFoundCode);
      });
    });
  });

  it('one of 20 racing PUTs with the same If-Match returns 200, and the others 412', async () => {
    const { path, etag, record } = await resource.create();
    const [body, headers] = [resource.next(replace), { 'if-match': etag }];
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => resource.request('PUT', path, { body, headers })),
    );
    expect(tally(responses)).toEqual({ 200: 1, 412: 19 });
    const { body: after } = await resource.get(path);
    expect(after).toEqual({ ...record, ...body, ...resource.ofService(after) });
  });
}

function describeReads(resource: ResourceUnderTest): void {
  const { patch, filters } = resource.contract;
  const queries = Object.entries(filters).map(([name, [value]]) => `?${name}=${String(value)}`);
  const [filtered = '?sort=-id'] = queries;
  const targets = ['/{id}', '', '?limit=5', filtered];

  describe.each(targets)(`GET ${resource.path}%s`, (target) => {
    let path: string;

    beforeAll(async () => {
      await resource.empty();
      const created = await resource.create();
      path = resource.path + target.replace('{id}', String(created.id));
    });

    /** Shared caches may store responses that need no token. */
    function expectCaching(headers: Headers): void {
      const isPublic = resource.isPublic(path);
      expect(headers.get('cache-control')).toBe(isPublic ? 'public, no-cache' : 'private, no-cache');
      expect(headers.get('vary')).toBe(isPublic ? null : 'Authorization');
    }

    it('lets the client keep the response, but revalidate it each time', async () => {
      const { headers } = await resource.get(path);
      expectCaching(headers);
      expect(headers.get('etag')).toMatch(/^"[\x21\x23-\x7e]+"$/);
      const revalidating = { 'if-none-match': headers.get('etag')!, 'cache-control': 'no-cache', pragma: 'no-cache' };
      expectStatus(await resource.get(path, revalidating), 304);
    });

    it.each(target === '/{id}' ? WEAKLY_MATCHING : WEAKLY_MATCHING.slice(0, 2))(
      'returns 304 without a body when If-None-Match is %s',
      async (_name, field) => {
        const etag = await resource.etagOf(path);
        const response = await resource.get(path, { 'if-none-match': field(etag) });
        expectStatus(response, 304);
        expect(response.text).toBe('');
        expect(response.headers.get('etag')).toBe(etag);
        expectCaching(response.headers);
        expectPlainHeaders(response.headers);
      },
    );

    it.each(target === '/{id}' ? ['"other"', '"a", "b"', 'W/"other"', 'nonsense', '""'] : ['"other"'])(
      'returns 200 when If-None-Match is %s',
      async (field) => expectStatus(await resource.get(path, { 'if-none-match': field }), 200),
    );

    it('returns 412 when If-Match is another tag', async () => {
      const response = await resource.get(path, { 'if-match': '"other"' });
      expectStatus(response, 412);
      expect(response.body).toMatchObject({ statusCode: 412, errorCode: 'PRECONDITION_FAILED' });
    });

    it('returns 304 with only the scope to read, and 403 with only the scope to write', async () => {
      const headers = { 'if-none-match': await resource.etagOf(path) };
      expectStatus(await resource.reader.get(path, headers), 304);
      const written = await resource.writer.get(path, headers);
      if (resource.isPublic(path)) expectStatus(written, 304);
      else expectRejected(written, 403, 'INSUFFICIENT_SCOPE');
    });
  });

  it('GET with If-None-Match returns 200 after a change, for the record and for the list', async () => {
    const { path, etag } = await resource.create();
    const list = await resource.etagOf(resource.path);
    const sent = resource.next(patch);
    expectStatus(await resource.request('PATCH', path, { body: sent }), 204);
    const record = await resource.get(path, { 'if-none-match': etag });
    const records = await resource.get(resource.path, { 'if-none-match': list });
    expect(record.body).toMatchObject(sent);
    expect(records.body.at(-1)).toEqual(record.body);
  });

  it('GET of a deleted record returns 404, whatever If-None-Match is', async () => {
    const { path, etag } = await resource.create();
    expectStatus(await resource.request('DELETE', path), 204);
    for (const field of [etag, '*']) {
      expectRejected(await resource.get(path, { 'if-none-match': field }), 404, resource.notFoundCode);
    }
  });
}
