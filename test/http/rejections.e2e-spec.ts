import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { claims, HS256, jws } from '../auth/jws.js';
import { expectError } from '../support/expect-error.js';
import { exchange, exchangeOne, request } from '../support/raw-http.js';
import { COOKIE, sharedService } from '../support/service.js';

const LIMIT = 16 * 1024;
const bearer = `Authorization: Bearer ${jws(HS256, claims())}`;

// `describeResource` tests the rejections of resources. This file tests rejections that concern no resource.

const { service, client } = sharedService({ COOKIES_CAPACITY: '1' });

beforeAll(async () => {
  // The storage is full, so an error of POST other than 507 comes before the check of the capacity.
  expect((await client.post(COOKIE)).status).toBe(201);
});

/** Expects that `act` changes neither the records nor their revision, which is part of the ETag. */
async function unchanged<T>(act: () => Promise<T>): Promise<T> {
  const state = async () => {
    const { text, headers } = await client.get('/cookies');
    return createHash('sha256').update(text).update(headers.get('etag')!).digest('hex');
  };
  const before = await state();
  const result = await act();
  expect(await state()).toBe(before);
  return result;
}

it.each(['/', '/cookie', '/health/live', '/metrics', '/.env', '/%63ookie'])('GET %s returns 404', async (path) => {
  const response = await client.get(path);
  expectError(response, 404, 'NOT_FOUND');
  expect(response.body.message).toBe('There is nothing at this path');
});

describe('a request that only a socket can send', () => {
  const HOST = 'Host: localhost';
  const CLOSE = 'Connection: close';
  const JSON_TYPE = 'Content-Type: application/json';
  const CHUNKED = 'Transfer-Encoding: chunked';
  const POST = 'POST /cookies HTTP/1.1';
  const body = JSON.stringify(COOKIE);

  /** A POST whose body is delimited by the header fields `framing`. */
  const post = (framing: string[], sent: string | Buffer): Buffer =>
    request([POST, HOST, CLOSE, bearer, JSON_TYPE, ...framing], sent);
  const get = (line: string, ...lines: string[]): Buffer => request([line, HOST, CLOSE, bearer, ...lines]);
  const withoutToken = (...lines: string[]): Buffer => request([...lines, HOST, CLOSE]);

  const LONG = 'x'.repeat(20_000);
  const TOO_LARGE = 'REQUEST_HEADER_FIELDS_TOO_LARGE';

  it.each<[error: string, what: string, bytes: Buffer]>([
    ['400 BAD_REQUEST', 'garbage', Buffer.from('garbage\r\n\r\n')],
    ['400 BAD_REQUEST', 'the hello of TLS', Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc])],
    ['400 BAD_REQUEST', 'the preface of HTTP/2', Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')],
    ['400 BAD_REQUEST', 'an unknown method', get('BREW /cookies HTTP/1.1')],
    ['505 HTTP_VERSION_NOT_SUPPORTED', 'another version', get('GET /cookies HTTP/3.1')],
    ['400 BAD_REQUEST', 'no Host', request(['GET /cookies HTTP/1.1', CLOSE, bearer])],
    ['400 BAD_REQUEST', 'two Hosts (RFC 9112 section 3.2)', get('GET /cookies HTTP/1.1', 'Host: elsewhere.example')],
    ['400 BAD_REQUEST', 'a header with a control character', get('GET /cookies HTTP/1.1', 'X-A: a\0b')],
    ['400 INVALID_REQUEST', 'a dot in percent-encoding for an id', get('GET /cookies/%2E HTTP/1.1')],
    ['400 BAD_REQUEST', 'broken percent-encoding without a token', withoutToken('GET /%zz HTTP/1.1')],
    [`431 ${TOO_LARGE}`, 'an oversized header', get('GET /cookies HTTP/1.1', `X-A: ${LONG}`)],
    ['404 NOT_FOUND', 'OPTIONS *', withoutToken('OPTIONS * HTTP/1.1')],
    ['404 NOT_FOUND', 'a path that goes up', get('GET /cookies/../cookies HTTP/1.1')],
    ['400 INVALID_REQUEST', 'a whole URL with a bad query', get('GET http://localhost/cookies?limit=0 HTTP/1.1')],
    ['405 METHOD_NOT_ALLOWED', 'TRACE', withoutToken('TRACE /cookies HTTP/1.1')],
    ['405 METHOD_NOT_ALLOWED', 'CONNECT', withoutToken('CONNECT localhost:443 HTTP/1.1')],
    ['417 EXPECTATION_FAILED', 'an Expect of the impossible', get('GET /cookies HTTP/1.1', 'Expect: the-impossible')],
    ['413 PAYLOAD_TOO_LARGE', 'a large length', post([`Content-Length: ${LIMIT + 1}`], body.padEnd(LIMIT + 1))],
    ['413 PAYLOAD_TOO_LARGE', 'chunks over the limit', post([CHUNKED], chunks(LONG.slice(0, 9000), LONG))],
    ['413 PAYLOAD_TOO_LARGE', 'a long extension of a chunk', post([CHUNKED], `1;${LONG}\r\n{\r\n0\r\n\r\n`)],
    ['400 BAD_REQUEST', 'a length that is no number', post(['Content-Length: ten'], body)],
    ['400 BAD_REQUEST', 'two lengths', post([`Content-Length: ${body.length}`, 'Content-Length: 3'], body)],
    ['400 BAD_REQUEST', 'a length beside chunks (smuggling)', post(['Content-Length: 3', CHUNKED], chunks(body))],
    ['415 UNSUPPORTED_MEDIA_TYPE', 'no type', request([POST, HOST, CLOSE, bearer, 'Content-Length: 2'], '{}')],
  ])('gets %s: %s', async (error, _what, bytes) => {
    const [status, errorCode] = error.split(' ') as [string, string];
    const answer = await unchanged(() => exchangeOne(service, bytes));
    expectError(answer, Number(status), errorCode);
    // RFC 9110 section 15.5.6
    if (status === '405') expect(answer.headers.get('allow')).not.toBeNull();
  });

  const ID = 'X-Request-Id: mine';

  it.each<[status: number, what: string, bytes: Buffer]>([
    [400, 'no Host', request(['GET /cookies HTTP/1.1', CLOSE, ID])],
    [400, 'broken percent-encoding', withoutToken('GET /cookies/%zz HTTP/1.1', ID)],
    [405, 'CONNECT', withoutToken('CONNECT localhost:443 HTTP/1.1', ID)],
    [417, 'an Expect of the impossible', get('GET /cookies HTTP/1.1', 'Expect: x', ID)],
  ])('gets its X-Request-Id in the %i: %s', async (status, _what, bytes) => {
    const answer = await exchangeOne(service, bytes);
    expect([answer.status, answer.headers.get('x-request-id')]).toEqual([status, 'mine']);
  });

  it('is rejected when its body ends before its length', async () => {
    const bytes = post([`Content-Length: ${body.length + 10}`], body);
    await unchanged(async () => {
      for (const answer of await exchange(service, bytes, { end: true })) expectError(answer, 400, 'BAD_REQUEST');
    });
  });

  it.each(['zz\r\n', '1\r\na\r\nzz\r\n'])(
    'changes nothing when its first packet is malformed (%j), also a DELETE, whose handler reads no body',
    async (chunk) => {
      await unchanged(async () => {
        const lines = ['DELETE /cookies/1 HTTP/1.1', HOST, bearer, 'Transfer-Encoding: chunked'];
        expectError(await exchangeOne(service, request(lines, chunk)), 400, 'BAD_REQUEST');
      });
    },
  );

  it('is 401 on a connection that stays open when its body has arrived', async () => {
    const bytes = request(['POST /cookies HTTP/1.1', HOST, JSON_TYPE, `Content-Length: ${body.length}`], body);
    const answers = await exchange(
      service,
      Buffer.concat([bytes, get('GET /cookies/1 HTTP/1.1', 'Connection: close')]),
    );
    expect(answers.map(({ status }) => status)).toEqual([401, 200]);
  });

  it('gets the response of its handler when that reads no body, and the client closes its side too early', async () => {
    const lines = ['DELETE /cookies/2 HTTP/1.1', HOST, bearer, 'Transfer-Encoding: chunked'];
    expectError(await exchangeOne(service, request(lines, '1\r\n'), { end: true }), 404, 'COOKIE_NOT_FOUND');
  });

  it('does not delay the next request of its connection', async () => {
    const bytes = Buffer.concat([
      request(['GET /cookies/abc HTTP/1.1', HOST, bearer]),
      request(['PUT /cookies HTTP/1.1', HOST, 'Content-Length: 3'], 'abc'),
      get('GET /cookies/1 HTTP/1.1'),
    ]);
    const answers = await exchange(service, bytes);
    expect(answers.map(({ status }) => status)).toEqual([400, 405, 200]);
    expect(answers[2]!.body).toEqual({ id: 1, ...COOKIE });
  });
});

function chunks(...texts: string[]): string {
  const parts = texts.map((text) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
  return `${parts.join('')}0\r\n\r\n`;
}

describe('an unusual but valid request', () => {
  const { service: roomy, client: welcome } = sharedService();
  const lines = ['POST /cookies HTTP/1.1', 'Host: localhost', 'Connection: close', 'Content-Type: application/json'];
  const body = JSON.stringify(COOKIE);

  it('stores a cookie from a body in chunks', async () => {
    const sent = request([...lines, bearer, 'Transfer-Encoding: Chunked'], chunks(body.slice(0, 5), body.slice(5)));
    expect((await exchangeOne(roomy, sent)).status).toBe(201);
  });

  it('stores a cookie from a client that waits for 100 (Continue)', async () => {
    const [name, authorization] = bearer.split(': ');
    const fields = { [name!]: authorization, 'content-type': 'application/json', 'content-length': body.length };
    const sent = httpRequest(`${roomy.url}/cookies`, {
      method: 'POST',
      headers: { ...fields, expect: '100-continue' },
    });
    sent.flushHeaders();
    await once(sent, 'continue', { signal: AbortSignal.timeout(10_000) });
    sent.end(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    expect(response.resume().statusCode).toBe(201);
  });

  it('gets 201 for a stored cookie, whatever bytes follow on its connection', async () => {
    const count = async () => (await welcome.get('/cookies?limit=1')).headers.get('x-total-count');
    const before = Number(await count());
    const kept = lines.filter((line) => !line.startsWith('Connection'));
    const sent = request([...kept, bearer, `Content-Length: ${body.length}`], `${body}garbage\r\n\r\n`);
    const [first] = await exchange(roomy, sent);
    expect({ status: first!.status, count: Number(await count()) }).toEqual({ status: 201, count: before + 1 });
  });

  it('accepts a complete URL as the target, as proxies send it (RFC 9112 section 3.2.2), and Link has no host', async () => {
    await welcome.post(COOKIE);
    await welcome.post(COOKIE);
    const target = 'http://elsewhere.example/cookies?limit=1';
    const { status, headers } = await exchangeOne(
      roomy,
      request([`GET ${target} HTTP/1.1`, 'Host: localhost', 'Connection: close', bearer]),
    );
    expect([status, headers.get('link')]).toEqual([200, expect.stringMatching(/^<\/cookies\?/)]);
  });

  it('accepts HTTP/1.0 without a Host', async () => {
    expect((await exchangeOne(roomy, request(['GET /cookies HTTP/1.0', bearer]))).status).toBe(200);
  });
});
