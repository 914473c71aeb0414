import type { RequestOptions } from '../service.js';
import { type CheckedClient, expectRejected } from './checked-client.js';
import type { ResourceUnderTest } from './resource-under-test.js';

/** Tests the order of errors: each request has the error of its row, and as many later errors as possible. */
export function describeErrorOrder(resource: ResourceUnderTest, record: () => string): void {
  const { path, contract } = resource;
  const { create } = contract;
  const text: RequestOptions = { body: 'x', headers: { 'content-type': 'text/plain' } };
  const oversized: RequestOptions = { ...text, body: '{'.repeat(16 * 1024 + 1) };
  const stale: RequestOptions = { headers: { 'if-match': '"old"' } };
  type Who = 'client' | 'reader' | 'stranger';
  type Sent = [who: Who, method: string, target: string, options?: RequestOptions];
  type Row = [status: number, code: string, what: string, ...Sent];
  const rows: Row[] = [
    [404, 'NOT_FOUND', 'the path before the method, size and token', 'stranger', 'PROPFIND', '/nowhere?x=1', oversized],
    [405, 'METHOD_NOT_ALLOWED', 'the method before the size', 'stranger', 'PUT', `${path}?x=1`, oversized],
    [400, 'BAD_REQUEST', 'broken percent-encoding before the token', 'stranger', 'GET', `${path}/%zz`],
    [413, 'PAYLOAD_TOO_LARGE', 'the size before the token', 'stranger', 'POST', path, oversized],
    [413, 'PAYLOAD_TOO_LARGE', 'the size before id, query and type', 'client', 'PUT', `${path}/abc?x=1`, oversized],
    [401, 'UNAUTHENTICATED', 'no token before a malformed id', 'stranger', 'GET', `${path}/abc`],
    [401, 'UNAUTHENTICATED', 'no token before the query', 'stranger', 'GET', `${path}?limit=0`],
    [401, 'UNAUTHENTICATED', 'no token before the type', 'stranger', 'POST', path, text],
    [401, 'UNAUTHENTICATED', 'no token before malformed JSON', 'stranger', 'POST', path, { body: '{' }],
    [401, 'UNAUTHENTICATED', 'no token before the record', 'stranger', 'GET', '{nowhere}'],
    [401, 'UNAUTHENTICATED', 'no token before the precondition', 'stranger', 'DELETE', '{record}', stale],
    [401, 'UNAUTHENTICATED', 'no token before the capacity', 'stranger', 'POST', path, { body: create }],
    [403, 'INSUFFICIENT_SCOPE', 'the scope before a malformed id', 'reader', 'DELETE', `${path}/abc`],
    [403, 'INSUFFICIENT_SCOPE', 'the scope before the query', 'reader', 'POST', `${path}?x=1`, { body: create }],
    [403, 'INSUFFICIENT_SCOPE', 'the scope before the type', 'reader', 'POST', path, text],
    [403, 'INSUFFICIENT_SCOPE', 'the scope before the record', 'reader', 'DELETE', '{nowhere}'],
    [403, 'INSUFFICIENT_SCOPE', 'the scope before the capacity', 'reader', 'POST', path, { body: create }],
    [400, 'INVALID_REQUEST', 'a malformed id before the type', 'client', 'PUT', `${path}/abc`, text],
    [400, 'INVALID_REQUEST', 'the query before the type', 'client', 'POST', `${path}?x=1`, text],
    [400, 'INVALID_REQUEST', 'a malformed id before the precondition', 'client', 'DELETE', `${path}/0`, stale],
    [415, 'UNSUPPORTED_MEDIA_TYPE', 'the type before malformed JSON', 'client', 'POST', path, { ...text, body: '{' }],
    [415, 'UNSUPPORTED_MEDIA_TYPE', 'the type before the record', 'client', 'PUT', '{nowhere}', text],
    [415, 'UNSUPPORTED_MEDIA_TYPE', 'the type before the capacity', 'client', 'POST', path, { ...text, body: create }],
    [400, 'MALFORMED_JSON', 'malformed JSON before the record', 'client', 'PUT', '{nowhere}', { body: '{' }],
    [400, 'INVALID_REQUEST', 'the body before the record', 'client', 'PATCH', '{nowhere}', { body: { id: 1 } }],
    [400, 'INVALID_REQUEST', 'the body before the precondition', 'client', 'PUT', '{record}', { body: {}, ...stale }],
    [400, 'INVALID_REQUEST', 'the body before the capacity', 'client', 'POST', path, { body: {} }],
    [404, '', 'the record before the precondition', 'client', 'DELETE', '{nowhere}', stale],
  ];

  const isTold = ([status, , , , method, target]: Row): boolean =>
    !(status === 401 && method === 'GET' && resource.isPublic(target));
  const titled = rows.filter(isTold).map(([status, code, what, ...sent]) => ({ status, code, what, sent }));
  it.each(titled)('with several errors returns $status $code: $what', async ({ status, code, sent }) => {
    const [who, method, target, options] = sent;
    const client: CheckedClient = resource[who];
    const place = target.replace('{record}', record()).replace('{nowhere}', resource.nowhere);
    const response = await client.request(method, place, options);
    expectRejected(response, status, code === '' ? resource.notFoundCode : code);
  });

  it('with several errors returns 400 rather than 428 where If-Match is required', async () => {
    await resource.requiringIfMatch(async () => {
      expectRejected(await resource.request('PATCH', record(), { body: { id: 1 } }), 400, 'INVALID_REQUEST');
    });
  });
}
