import { constants, createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Body, Controller, Get, Module, Param, Post, Query, Req, UseGuards } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import { AuthGuard } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import { IsInt, IsString, Max, Min } from 'class-validator';
import { Public, Scopes } from '../../src/auth/scopes.decorator.js';
import { TokenVerifier } from '../../src/auth/token-verifier.js';
import { ParseIdPipe } from '../../src/http/validation/parse-id.pipe.js';
import { QueryInteger } from '../../src/http/validation/query-values.js';
import { IsOptionalNotNull } from '../../src/http/validation/is-optional-not-null.decorator.js';
import { expectError, expectErrorHeaders } from '../support/expect-error.js';
import {
  type Answer,
  Client,
  COOKIE,
  SECRET,
  type Service,
  startService,
  temporaryFolder,
} from '../support/service.js';

// Tokens are put together by hand here: a library would refuse to make most of those that the service must refuse.

type Signature = (input: string) => Buffer;

const hmac =
  (hash: string, secret: string | Buffer): Signature =>
  (input) =>
    createHmac(hash, secret).update(input).digest();

const rsa =
  (hash: string, key: KeyObject): Signature =>
  (input) =>
    sign(hash, Buffer.from(input), key);

const pss =
  (hash: string, key: KeyObject): Signature =>
  (input) =>
    sign(hash, Buffer.from(input), {
      key,
      padding: constants.RSA_PKCS1_PSS_PADDING,
      saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
    });

const ecdsa =
  (hash: string, key: KeyObject, dsaEncoding: 'ieee-p1363' | 'der' = 'ieee-p1363'): Signature =>
  (input) =>
    sign(hash, Buffer.from(input), { key, dsaEncoding });

const eddsa =
  (key: KeyObject): Signature =>
  (input) =>
    sign(null, Buffer.from(input), key);

/** The text of a part with bits set that a decoder drops; `undefined` where its last character has none to spare. */
function withSlack(part: string): string | undefined {
  if (part.length % 4 === 0) return undefined;
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return part.slice(0, -1) + alphabet[alphabet.indexOf(part.at(-1)!) + 1];
}

const unsigned: Signature = () => Buffer.alloc(0);
const withSecret = hmac('sha256', SECRET);

const encoded = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** A compact JWS of any header and payload; a text is taken as it is, whether JSON or not. */
function jws(header: unknown, payload: unknown, signature: Signature = withSecret): string {
  const input = `${encoded(header)}.${encoded(payload)}`;
  return `${input}.${signature(input).toString('base64url')}`;
}

/** The signature of a token with `+`, `/` and padding, as a base64 encoder for other purposes writes it. */
const base64 = (token: string): string => {
  const [header, payload, signature] = token.split('.') as [string, string, string];
  return `${header}.${payload}.${Buffer.from(signature, 'base64url').toString('base64')}`;
};

const now = (): number => Math.floor(Date.now() / 1000);
const BOTH = 'cookies:read cookies:write';
const HS256 = { alg: 'HS256' };

function claims(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return { sub: 'alice', scope: BOTH, exp: now() + 3600, ...changes };
}

const MANY = Array.from({ length: 2000 }, (_, index) => index.toString(36));

const BARE_CHALLENGE = 'Bearer realm="cookies"';
const INVALID_TOKEN_CHALLENGE = /^Bearer realm="cookies", error="invalid_token"(, error_description="[^"\\]*")?$/;

function list(service: Service, authorization?: string): Promise<Answer> {
  return Client.bearing(service).get('/cookies', authorization === undefined ? {} : { authorization });
}

function expectInvalidToken(answer: Answer): void {
  expectError(answer, 401, 'INVALID_TOKEN');
  expect(answer.headers.get('www-authenticate')).toMatch(INVALID_TOKEN_CHALLENGE);
}

describe('the Authorization header', () => {
  let service: Service;
  const token = jws(HS256, claims());

  beforeAll(async () => {
    service = await startService();
  });

  afterAll(() => service.stop());

  it.each([
    ['Bearer', `Bearer ${token}`],
    ['the scheme in small letters', `bearer ${token}`],
    ['the scheme in capitals', `BEARER ${token}`],
    ['the scheme in mixed letters', `bEaReR ${token}`],
    ['several blanks after the scheme', `Bearer   ${token}`],
    ['the token alone', token],
  ])('may have %s', async (_what, authorization) => {
    expect((await list(service, authorization)).status).toBe(200);
  });

  it.each([
    ['is missing', undefined],
    ['is empty', ''],
    ['has only the scheme', 'Bearer'],
    ['has another scheme', 'Basic YWxpY2U6c2VjcmV0'],
    ['has a good token in another scheme', `Basic ${token}`],
    ['has a good token in the scheme Token', `Token ${token}`],
    ['has neither scheme nor token', 'alice'],
  ])('is answered with the bare challenge when it %s', async (_what, authorization) => {
    const answer = await list(service, authorization);
    expectError(answer, 401, 'UNAUTHENTICATED');
    expect(answer.headers.get('www-authenticate')).toBe(BARE_CHALLENGE);
  });

  it.each([
    ['more behind the token', `Bearer ${token} more`],
    ['more before the scheme', `x Bearer ${token}`],
    ['a second token behind a comma', `Bearer ${token}, Bearer ${token}`],
    ['parameters behind the token', `Bearer ${token},realm="x"`],
    ['nothing between the scheme and the token', `Bearer${token}`],
    ['quotes around the token', `Bearer "${token}"`],
    ['more behind a bare token', `${token} more`],
  ])('is not taken with %s', async (_what, authorization) => {
    const answer = await list(service, authorization);
    expectError(answer, 401, answer.body.errorCode);
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer realm="cookies"/);
  });

  it('is the only place for a token', async () => {
    const stranger = Client.bearing(service);
    expectError(await stranger.get(`/cookies?access_token=${token}`), 401, 'UNAUTHENTICATED');
    expectError(await stranger.get('/cookies', { cookie: `access_token=${token}` }), 401, 'UNAUTHENTICATED');
    const form = { body: `access_token=${token}`, headers: { 'content-type': 'application/x-www-form-urlencoded' } };
    expectError(await stranger.request('POST', '/cookies', form), 401, 'UNAUTHENTICATED');
  });

  it('is needed for every operation, and for HEAD', async () => {
    const stranger = Client.bearing(service);
    for (const [method, path] of [
      ['GET', '/cookies'],
      ['POST', '/cookies'],
      ['GET', '/cookies/1'],
      ['PUT', '/cookies/1'],
      ['PATCH', '/cookies/1'],
      ['DELETE', '/cookies/1'],
    ] as const) {
      expectError(await stranger.request(method, path), 401, 'UNAUTHENTICATED');
    }
    const head = await stranger.request('HEAD', '/cookies');
    expect(head.status).toBe(401);
    expect(head.headers.get('www-authenticate')).toBe(BARE_CHALLENGE);
    expectErrorHeaders(head);
  });
});

describe('a token', () => {
  let service: Service;
  const attacker = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = attacker.publicKey.export({ format: 'jwk' });

  beforeAll(async () => {
    service = await startService();
  });

  afterAll(() => service.stop());

  const ACCEPTED: [what: string, token: () => string][] = [
    ['with what is needed', () => jws(HS256, claims())],
    ['with a type and a key id', () => jws({ ...HS256, typ: 'at+jwt', kid: 'x' }, claims())],
    ['with an issuer and an audience that nobody asked for', () => jws(HS256, claims({ iss: 'x', aud: ['y', 'z'] }))],
    ['that expired 25 s ago, for clocks differ', () => jws(HS256, claims({ exp: now() - 25 }))],
    ['that is valid in 25 s, for clocks differ', () => jws(HS256, claims({ nbf: now() + 25 }))],
    ['that has been valid for long', () => jws(HS256, claims({ nbf: 0, iat: 0 }))],
    ['that expires at a fraction of a second', () => jws(HS256, claims({ exp: now() + 100.5 }))],
    ['longer than those that are cached', () => jws(HS256, claims({ note: 'x'.repeat(9000) }))],
    ['of type JWT', () => jws({ ...HS256, typ: 'JWT' }, claims())],
    ['of type jwt', () => jws({ ...HS256, typ: 'jwt' }, claims())],
    ['of type application/at+jwt', () => jws({ ...HS256, typ: 'application/AT+jwt' }, claims())],
    ['with a content type that is no token', () => jws({ ...HS256, cty: 'json' }, claims())],
    ['that expires in a year', () => jws(HS256, claims({ exp: now() + 365 * 86_400 }))],
    ['with a sub of 1024 characters', () => jws(HS256, claims({ sub: 's'.repeat(1024) }))],
    ['with more scopes than a cached one may have', () => jws(HS256, claims({ scope: [BOTH, ...MANY].join(' ') }))],
    ['whose sub comes twice', () => jws(HS256, JSON.stringify(claims()).replace('{', '{"sub":7,'))],
    ['with claims in any script', () => jws(HS256, claims({ sub: 'Zoë 🍪' }))],
  ];

  it.each(ACCEPTED)('%s is accepted, again and again', async (_what, token) => {
    const authorization = `Bearer ${token()}`;
    for (let time = 0; time < 2; time++) expect((await list(service, authorization)).status).toBe(200);
  });

  const [header, payload, signature] = jws(HS256, claims()).split('.') as [string, string, string];
  const middle = signature[20] === 'A' ? 'B' : 'A';
  const der = attacker.publicKey.export({ format: 'der', type: 'spki' }).toString('base64');

  const REFUSED: [what: string, token: () => string][] = [
    ['that is no JWT', () => 'abc'],
    ['of two parts', () => `${header}.${payload}`],
    ['of four parts', () => `${header}.${payload}.${signature}.${signature}`],
    ['of five parts, as if encrypted', () => 'a.b.c.d.e'],
    ['of three empty parts', () => '..'],
    ['whose header is no JSON', () => jws('alg', claims())],
    ['whose header is an array', () => jws([HS256], claims())],
    ['whose payload is no JSON', () => jws(HS256, 'sub=alice')],
    ['whose payload is null', () => jws(HS256, 'null')],
    ['whose payload is an array', () => jws(HS256, [claims()])],
    ['without a signature', () => `${header}.${payload}.`],
    ['with half a signature', () => `${header}.${payload}.${signature.slice(0, 20)}`],
    ['with a changed signature', () => `${header}.${payload}.${signature.slice(0, 20)}${middle}${signature.slice(21)}`],
    ['with another payload under the signature', () => `${header}.${encoded(claims({ sub: 'mallory' }))}.${signature}`],
    ['with another header under the signature', () => `${encoded({ ...HS256, typ: 'x' })}.${payload}.${signature}`],
    ['signed with another secret', () => jws(HS256, claims(), hmac('sha256', `${SECRET}x`))],
    ['signed with no secret', () => jws(HS256, claims(), hmac('sha256', ''))],
    ['of alg none', () => jws({ alg: 'none' }, claims(), unsigned)],
    ['of alg None', () => jws({ alg: 'None' }, claims(), unsigned)],
    ['of alg none with a good signature', () => jws({ alg: 'none' }, claims())],
    ['without alg', () => jws({ typ: 'JWT' }, claims())],
    ['with an alg that is an array', () => jws({ alg: ['HS256'] }, claims())],
    ['of alg hs256', () => jws({ alg: 'hs256' }, claims())],
    ['of alg HS384', () => jws({ alg: 'HS384' }, claims(), hmac('sha384', SECRET))],
    ['of alg HS512', () => jws({ alg: 'HS512' }, claims(), hmac('sha512', SECRET))],
    ['of alg RS256', () => jws({ alg: 'RS256' }, claims(), rsa('sha256', attacker.privateKey))],
    ['with critical extensions', () => jws({ ...HS256, crit: ['exp'], exp: 1 }, claims())],
    ['with critical extensions that are none', () => jws({ ...HS256, crit: [] }, claims())],
    ['with an unencoded payload', () => jws({ ...HS256, b64: false, crit: ['b64'] }, claims())],
    ['with a key of its own (jwk)', () => jws({ alg: 'RS256', jwk }, claims(), rsa('sha256', attacker.privateKey))],
    ['with a key of its own (jwk) and a good signature', () => jws({ ...HS256, jwk }, claims())],
    ['with an address of keys (jku)', () => jws({ ...HS256, jku: 'https://evil.example/jwks' }, claims())],
    ['with an address of certificates (x5u)', () => jws({ ...HS256, x5u: 'https://evil.example/x5u' }, claims())],
    ['with certificates (x5c)', () => jws({ ...HS256, x5c: [der] }, claims())],
    ['that expired 35 s ago', () => jws(HS256, claims({ exp: now() - 35 }))],
    ['that expired long ago', () => jws(HS256, claims({ exp: 1 }))],
    ['that is valid in 35 s', () => jws(HS256, claims({ nbf: now() + 35 }))],
    ['without exp', () => jws(HS256, claims({ exp: undefined }))],
    ['with exp null', () => jws(HS256, claims({ exp: null }))],
    ['with exp as a text', () => jws(HS256, claims({ exp: String(now() + 3600) }))],
    ['with nbf as a text', () => jws(HS256, claims({ nbf: '0' }))],
    ['without sub', () => jws(HS256, claims({ sub: undefined }))],
    ['with sub null', () => jws(HS256, claims({ sub: null }))],
    ['with an empty sub', () => jws(HS256, claims({ sub: '' }))],
    ['with sub as a number', () => jws(HS256, claims({ sub: 7 }))],
    ['with a sub of 1025 characters', () => jws(HS256, claims({ sub: 's'.repeat(1025) }))],
    ['with iss as an array', () => jws(HS256, claims({ iss: ['a', 'b'] }))],
    ['with an iss of 1025 characters', () => jws(HS256, claims({ iss: 'i'.repeat(1025) }))],
    ['whose last sub of two is wrong', () => jws(HS256, JSON.stringify(claims()).replace(/}$/, ',"sub":7}'))],
    ['that expires in 367 days', () => jws(HS256, claims({ exp: now() + 367 * 86_400 }))],
    ['that expires in milliseconds', () => jws(HS256, claims({ exp: Date.now() + 3_600_000 }))],
    ['that expires at 1e300', () => jws(HS256, claims({ exp: 1e300 }))],
    ['that expires at 1e999', () => jws(HS256, JSON.stringify(claims({ exp: 7 })).replace('"exp":7', '"exp":1e999'))],
    ['with a negative exp', () => jws(HS256, claims({ exp: -now() - 3600 }))],
    ['with exp true', () => jws(HS256, claims({ exp: true }))],
    ['with exp as an array', () => jws(HS256, claims({ exp: [now() + 3600] }))],
    ['with iat as a text', () => jws(HS256, claims({ iat: String(now()) }))],
    ['of type id_token', () => jws({ ...HS256, typ: 'id_token' }, claims())],
    ['of type logout+jwt', () => jws({ ...HS256, typ: 'logout+jwt' }, claims())],
    ['of type dpop+jwt', () => jws({ ...HS256, typ: 'application/dpop+jwt' }, claims())],
    ['of type text/jwt', () => jws({ ...HS256, typ: 'text/jwt' }, claims())],
    ['of an empty type', () => jws({ ...HS256, typ: '' }, claims())],
    ['of type null', () => jws({ ...HS256, typ: null }, claims())],
    ['of a type that is an array', () => jws({ ...HS256, typ: ['JWT'] }, claims())],
    ['that says that it holds another', () => jws({ ...HS256, cty: 'JWT' }, claims())],
    ['that holds another', () => jws({ ...HS256, cty: 'JWT' }, jws(HS256, claims()))],
    ['with an unencoded payload that is not critical', () => jws({ ...HS256, b64: false }, claims())],
    ['with padding behind the signature', () => `${jws(HS256, claims())}=`],
    ['with a line end behind the signature', () => `${jws(HS256, claims())}%0A`],
    ['with the signature in base64', () => base64(jws(HS256, claims({ sub: 'bob' })))],
  ];

  it.each(REFUSED)('%s is 401', async (_what, token) => {
    expectInvalidToken(await list(service, `Bearer ${token()}`));
  });

  it.each<[what: string, token: () => string, reason: string]>([
    ['without exp', () => jws(HS256, claims({ exp: undefined })), 'claim "exp"'],
    ['without sub', () => jws(HS256, claims({ sub: undefined })), 'claim "sub"'],
    ['with critical extensions', () => jws({ ...HS256, crit: ['b64'], b64: true }, claims()), '(crit)'],
    ['that has expired', () => jws(HS256, claims({ exp: now() - 60 })), 'expired'],
    ['with another signature', () => jws(HS256, claims(), hmac('sha256', 'other')), 'signature'],
    ['of another algorithm', () => jws({ alg: 'HS512' }, claims(), hmac('sha512', SECRET)), 'algorithm'],
    ['of another kind', () => jws({ ...HS256, typ: 'logout+jwt' }, claims()), 'typ'],
  ])('%s is 401, and the message says why', async (_what, token, reason) => {
    const response = await list(service, `Bearer ${token()}`);
    expectInvalidToken(response);
    expect(response.body.message).toContain(reason);
  });

  it('whose signature has another last character is 401, also where that decodes to the same bytes', async () => {
    const token = jws(HS256, claims());
    const changed = `${header}.${payload}.${withSlack(signature)}`;
    expect(Buffer.from(withSlack(signature)!, 'base64url')).toEqual(Buffer.from(signature, 'base64url'));
    for (let time = 0; time < 2; time++) {
      expectInvalidToken(await list(service, `Bearer ${changed}`));
      expect((await list(service, `Bearer ${token}`)).status).toBe(200);
    }
    expectInvalidToken(await list(service, changed));
  });

  it.each(['header', 'payload'] as const)('whose %s is not canonical is 401, though it is signed so', async (part) => {
    let [head, body] = [encoded(HS256), encoded(claims())];
    for (let blanks = ' '; withSlack(head) === undefined; blanks += ' ') head = encoded(JSON.stringify(HS256) + blanks);
    for (let note = 'x'; withSlack(body) === undefined; note += 'x') body = encoded(claims({ note }));
    const signed = (input: string): string => `${input}.${withSecret(input).toString('base64url')}`;
    expect((await list(service, `Bearer ${signed(`${head}.${body}`)}`)).status).toBe(200);
    if (part === 'header') head = withSlack(head)!;
    else body = withSlack(body)!;
    expectInvalidToken(await list(service, `Bearer ${signed(`${head}.${body}`)}`));
  });

  it('that passed once makes none pass that was made from it', async () => {
    expect((await list(service, `Bearer ${header}.${payload}.${signature}`)).status).toBe(200);
    const changed = `${signature.slice(0, 20)}${middle}${signature.slice(21)}`;
    expectInvalidToken(await list(service, `Bearer ${header}.${payload}.${changed}`));
    expectInvalidToken(await list(service, `Bearer ${header}.${encoded(claims({ scope: 'all' }))}.${signature}`));
    expectInvalidToken(await list(service, `Bearer ${header}.${payload}.`));
  });

  it('that is rejected is never named in the response', async () => {
    const secretive = jws(HS256, claims({ sub: 'mallory-the-secretive', exp: 1 }));
    const { text, headers } = await list(service, `Bearer ${secretive}`);
    for (const place of [text, JSON.stringify([...headers])]) {
      expect(place).not.toContain('mallory');
      expect(place).not.toContain(secretive.split('.')[1]);
    }
  });
});

describe('a token that has been accepted before', () => {
  const { jest: clock } = import.meta;
  let service: Service;

  beforeAll(async () => {
    service = await startService();
    // Only the date stands still: sockets and timers go on.
    clock.useFakeTimers({
      doNotFake: [
        'hrtime',
        'nextTick',
        'performance',
        'queueMicrotask',
        'setImmediate',
        'clearImmediate',
        'setInterval',
        'clearInterval',
        'setTimeout',
        'clearTimeout',
      ],
    });
  });

  afterAll(async () => {
    clock.useRealTimers();
    await service.stop();
  });

  it.each([
    ['short enough to be cached', {}],
    ['too long to be cached', { note: 'x'.repeat(9000) }],
  ])('stops working 30 s after its exp (%s)', async (_what, more) => {
    const start = Date.now();
    const authorization = `Bearer ${jws(HS256, claims({ exp: Math.floor(start / 1000) + 10, ...more }))}`;
    const at = async (seconds: number): Promise<number> => {
      clock.setSystemTime(start + seconds * 1000);
      return (await list(service, authorization)).status;
    };
    expect([await at(0), await at(9), await at(11), await at(38)]).toEqual([200, 200, 200, 200]);
    expect([await at(41), await at(3600)]).toEqual([401, 401]);
    expectInvalidToken(await list(service, authorization));
  });

  it('is verified once, and one that is too long to be cached for each request', async () => {
    const verifications = clock.spyOn(
      service.app.get<{ payloadOf(token: string): unknown }>(TokenVerifier as never, { strict: false }),
      'payloadOf',
    );
    for (const [more, times] of [
      [{ sub: 'once' }, 1],
      [{ sub: 'each time', note: 'x'.repeat(9000) }, 3],
    ] as const) {
      verifications.mockClear();
      const authorization = `Bearer ${jws(HS256, claims(more))}`;
      for (let time = 0; time < 3; time++) expect((await list(service, authorization)).status).toBe(200);
      expect(verifications).toHaveBeenCalledTimes(times);
    }
    verifications.mockRestore();
  });

  it('responds to each of many first requests together with what its own token allows', async () => {
    const clients = await Promise.all(
      Array.from({ length: 32 }, (_, index) =>
        Client.of(service, { subject: `client-${index}`, scope: index % 2 === 0 ? 'cookies:read' : 'cookies:write' }),
      ),
    );
    const answers = await Promise.all(clients.map((client) => client.get('/cookies')));
    expect(answers.map(({ status }) => status)).toEqual(clients.map((_, index) => (index % 2 === 0 ? 200 : 403)));
  });

  it('still opens only what its scope says', async () => {
    const authorization = `Bearer ${jws(HS256, claims({ scope: 'cookies:read' }))}`;
    const reader = Client.bearing(service);
    expect((await reader.get('/cookies', { authorization })).status).toBe(200);
    expectError(await reader.post(COOKIE, { authorization }), 403, 'INSUFFICIENT_SCOPE');
  });
});

describe('JWT_MAX_LIFETIME=3600', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService({ JWT_MAX_LIFETIME: '3600' });
  });

  afterAll(() => service.stop());

  it.each<[what: string, changes: () => Record<string, unknown>]>([
    ['that expires in an hour', () => ({ exp: now() + 3600 })],
    ['that expires 25 s later, for clocks differ', () => ({ exp: now() + 3625 })],
    ['that was made a year ago and has an hour left', () => ({ iat: now() - 31_536_000, exp: now() + 3600 })],
  ])('lets a token through %s', async (_what, changes) => {
    expect((await list(service, `Bearer ${jws(HS256, claims(changes()))}`)).status).toBe(200);
  });

  it.each<[what: string, changes: () => Record<string, unknown>]>([
    ['that expires 35 s later', () => ({ exp: now() + 3635 })],
    [
      'that expires in two hours, though it is said to be made in one',
      () => ({ iat: now() + 3600, exp: now() + 7200 }),
    ],
  ])('makes a token 401 %s, and says what may be', async (_what, changes) => {
    const answer = await list(service, `Bearer ${jws(HS256, claims(changes()))}`);
    expectInvalidToken(answer);
    expect(answer.body.message).toMatch(/exp.*3600 seconds/);
  });
});

describe('issuer and audience', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService({ JWT_ISSUER: 'https://login.example.com/', JWT_AUDIENCE: 'cookies' });
  });

  afterAll(() => service.stop());

  const iss = 'https://login.example.com/';

  it.each([
    ['the audience as a text', { iss, aud: 'cookies' }],
    ['the audience among others', { iss, aud: ['other', 'cookies'] }],
  ])('are accepted with %s', async (_what, changes) => {
    expect((await list(service, `Bearer ${jws(HS256, claims(changes))}`)).status).toBe(200);
  });

  it('are in what JwtService signs', async () => {
    const options = { subject: 'alice', expiresIn: 60 };
    const signed = await service.app.get(JwtService, { strict: false }).signAsync({ scope: 'cookies:read' }, options);
    expect((await list(service, `Bearer ${signed}`)).status).toBe(200);
  });

  it.each<[what: string, changes: Record<string, unknown>]>([
    ['both are missing', {}],
    ['the issuer is missing', { aud: 'cookies' }],
    ['the issuer is another', { iss: 'https://evil.example/', aud: 'cookies' }],
    ['the issuer lacks its last slash', { iss: iss.slice(0, -1), aud: 'cookies' }],
    ['the issuer is an array', { iss: [iss], aud: 'cookies' }],
    ['the audience is missing', { iss }],
    ['the audience is another', { iss, aud: 'cookies2' }],
    ['the audience is an empty array', { iss, aud: [] }],
    ['the audience is in other letters', { iss, aud: 'Cookies' }],
  ])('are refused when %s', async (_what, changes) => {
    expectInvalidToken(await list(service, `Bearer ${jws(HS256, claims(changes))}`));
  });
});

describe('a public key', () => {
  const issued = { JWT_ISSUER: 'https://login.example.com/', JWT_AUDIENCE: 'cookies' };
  const accepted = (): Record<string, unknown> => claims({ iss: issued.JWT_ISSUER, aud: issued.JWT_AUDIENCE });
  const pairs = {
    rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
    ec: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    ed25519: generateKeyPairSync('ed25519'),
  };
  const other = {
    rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
    ec: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
    ed25519: generateKeyPairSync('ed25519').privateKey,
  };
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
  const { rsa: rsaPair, ec: ecPair, ed25519: edPair } = pairs;
  const pemOf = (kind: keyof typeof pairs): string =>
    pairs[kind].publicKey.export({ format: 'pem', type: 'spki' }) as string;
  const folder = temporaryFolder();

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const FROM = [
    ['JWT_PUBLIC_KEY', (pem: string) => ({ JWT_PUBLIC_KEY: pem })],
    [
      'JWT_PUBLIC_KEY_FILE',
      (pem: string) => {
        const file = join(folder, 'key.pem');
        writeFileSync(file, pem);
        return { JWT_SECRET: undefined, JWT_PUBLIC_KEY_FILE: file };
      },
    ],
  ] as const;

  /** What a key lets in, and what it does not; the algorithms are those of its kind alone. */
  const TOKENS: Record<keyof typeof pairs, { good: [string, Signature][]; bad: [string, Signature, string?][] }> = {
    rsa: {
      good: [
        ['RS256', rsa('sha256', rsaPair.privateKey)],
        ['PS256', pss('sha256', rsaPair.privateKey)],
      ],
      bad: [
        ['RS384', rsa('sha384', rsaPair.privateKey)],
        ['RS512', rsa('sha512', rsaPair.privateKey)],
        ['PS384', pss('sha384', rsaPair.privateKey)],
        ['PS512', pss('sha512', rsaPair.privateKey)],
        ['RS256', pss('sha256', rsaPair.privateKey), 'signed as PS256'],
        ['RS256', rsa('sha256', other.rsa), 'signed with another key'],
        ['PS256', pss('sha256', other.rsa), 'signed with another key'],
        ['ES256', ecdsa('sha256', ecPair.privateKey)],
      ],
    },
    ec: {
      good: [['ES256', ecdsa('sha256', ecPair.privateKey)]],
      bad: [
        ['ES256', ecdsa('sha256', other.ec), 'signed with another key'],
        ['ES256', ecdsa('sha256', ecPair.privateKey, 'der'), 'with the signature in DER'],
        ['ES384', ecdsa('sha384', p384)],
        ['ES256', () => Buffer.alloc(64), 'with a signature of zeros (CVE-2022-21449)'],
      ],
    },
    ed25519: {
      good: [['EdDSA', eddsa(edPair.privateKey)]],
      bad: [
        ['EdDSA', eddsa(other.ed25519), 'signed with another key'],
        ['ES256', ecdsa('sha256', ecPair.privateKey)],
      ],
    },
  };

  describe.each(FROM.flatMap(([name, environment]) => Object.keys(pairs).map((kind) => ({ name, kind, environment }))))(
    'of kind $kind in $name',
    ({ kind: text, environment }) => {
      const kind = text as keyof typeof pairs;
      const { good, bad } = TOKENS[kind];
      let service: Service;

      beforeAll(async () => {
        service = await startService({ ...issued, ...environment(pemOf(kind)) });
      });

      afterAll(() => service.stop());

      it.each(good)('accepts %s', async (alg, signature) => {
        expect((await list(service, `Bearer ${jws({ alg }, accepted(), signature)}`)).status).toBe(200);
      });

      it.each(bad.map(([alg, signature, how = '']) => ({ alg, signature, how })))(
        'rejects $alg $how',
        async ({ alg, signature }) => {
          expectInvalidToken(await list(service, `Bearer ${jws({ alg }, accepted(), signature)}`));
        },
      );

      it('rejects HS256 with the public key as the secret, in any writing of it', async () => {
        const pem = pemOf(kind);
        const der = pairs[kind].publicKey.export({ format: 'der', type: 'spki' });
        for (const secret of [pem, pem.trimEnd(), pem.replaceAll('\n', '\r\n'), der, der.toString('base64')]) {
          expectInvalidToken(await list(service, `Bearer ${jws(HS256, accepted(), hmac('sha256', secret))}`));
        }
      });

      it('rejects tokens without a signature, and those of the secret of other services', async () => {
        expectInvalidToken(await list(service, `Bearer ${jws({ alg: 'none' }, accepted(), unsigned)}`));
        expectInvalidToken(await list(service, `Bearer ${jws(HS256, accepted())}`));
      });

      it('rejects tokens for others', async () => {
        const [[alg, signature]] = good as [[string, Signature]];
        const elsewhere = { ...accepted(), aud: 'elsewhere' };
        const stranger = { ...accepted(), iss: 'https://evil.example/' };
        for (const payload of [elsewhere, stranger]) {
          expectInvalidToken(await list(service, `Bearer ${jws({ alg }, payload, signature)}`));
        }
      });
    },
  );

  it('does not open a service that has another, though both run in one process', async () => {
    const [first, second, third] = await Promise.all([
      startService({ ...issued, JWT_PUBLIC_KEY: pemOf('rsa') }),
      startService({ ...issued, JWT_PUBLIC_KEY: pemOf('ed25519') }),
      startService({ ...issued, JWT_SECRET: `${SECRET} of the third` }),
    ]);
    const services = [first, second, third];
    try {
      const tokens = [
        jws({ alg: 'RS256' }, accepted(), rsa('sha256', rsaPair.privateKey)),
        jws({ alg: 'EdDSA' }, accepted(), eddsa(edPair.privateKey)),
        jws(HS256, accepted(), hmac('sha256', `${SECRET} of the third`)),
      ];
      for (const [own, token] of tokens.entries()) {
        // First where it is good, so that it would be found if the services shared what they remember.
        expect((await list(services[own]!, `Bearer ${token}`)).status).toBe(200);
        for (const service of services.filter((_service, index) => index !== own)) {
          expectInvalidToken(await list(service, `Bearer ${token}`));
        }
      }
    } finally {
      await Promise.all(services.map((service) => service.stop()));
    }
  });
});

describe('a secret', () => {
  it('may come from the file that JWT_SECRET_FILE names, with a line end or without', async () => {
    const folder = temporaryFolder();
    try {
      for (const [name, content] of [
        ['secret', SECRET],
        ['secret-with-line-end', `${SECRET}\n`],
      ] as const) {
        const file = join(folder, name);
        writeFileSync(file, content);
        const service = await startService({ JWT_SECRET: undefined, JWT_SECRET_FILE: file });
        try {
          expect((await list(service, `Bearer ${jws(HS256, claims())}`)).status).toBe(200);
          expectInvalidToken(await list(service, `Bearer ${jws(HS256, claims(), hmac('sha256', 'x'.repeat(32)))}`));
        } finally {
          await service.stop();
        }
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('the scope of a token', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService();
  });

  afterAll(() => service.stop());

  const ask = (method: string, path: string, scope: unknown, body?: unknown): Promise<Answer> =>
    Client.bearing(service, jws(HS256, claims({ scope }))).request(method, path, { body });

  const WRITES: [method: string, path: string, body?: unknown][] = [
    ['POST', '/cookies', COOKIE],
    ['PUT', '/cookies/1', { flavor: 'vanilla', size: 'small' }],
    ['PATCH', '/cookies/1', {}],
    ['DELETE', '/cookies/1'],
  ];

  it.each(WRITES.map(([method, path, body]) => ({ method, path, body })))(
    'to read does not let $method through',
    async ({ method, path, body }) => {
      const answer = await ask(method, path, 'cookies:read', body);
      expectError(answer, 403, 'INSUFFICIENT_SCOPE');
      expect(answer.headers.get('www-authenticate')).toBe(
        'Bearer realm="cookies", error="insufficient_scope", scope="cookies:write"',
      );
    },
  );

  it.each(['/cookies', '/cookies/1', '/cookies?limit=1'])('to write does not let anyone read %s', async (path) => {
    const answer = await ask('GET', path, 'cookies:write');
    expectError(answer, 403, 'INSUFFICIENT_SCOPE');
    const challenge = 'Bearer realm="cookies", error="insufficient_scope", scope="cookies:read"';
    expect(answer.headers.get('www-authenticate')).toBe(challenge);
    const head = await ask('HEAD', path, 'cookies:write');
    expect(head.status).toBe(403);
    expect(head.headers.get('www-authenticate')).toBe(challenge);
  });

  it('to read lets GET and HEAD through', async () => {
    expect((await ask('GET', '/cookies', 'cookies:read')).status).toBe(200);
    expect((await ask('HEAD', '/cookies', 'cookies:read')).status).toBe(200);
  });

  it('to write alone lets all that writes through', async () => {
    const created = await ask('POST', '/cookies', 'cookies:write', COOKIE);
    const path = created.headers.get('location')!;
    expect(created.status).toBe(201);
    expect((await ask('PATCH', path, 'cookies:write', { size: 'large' })).status).toBe(204);
    expect((await ask('DELETE', path, 'cookies:write')).status).toBe(204);
  });

  it.each<[what: string, scope: unknown]>([
    ['a text', BOTH],
    ['a text with others', 'openid  cookies:read email'],
    ['an array', ['cookies:write', 'cookies:read']],
    ['an array with other things', [1, null, { a: 1 }, 'cookies:read']],
  ])('may be %s', async (_what, scope) => {
    expect((await ask('GET', '/cookies', scope)).status).toBe(200);
  });

  it.each<[what: string, scope: unknown]>([
    ['missing', undefined],
    ['null', null],
    ['empty', ''],
    ['an empty array', []],
    ['true', true],
    ['a number', 1],
    ['an object', { 'cookies:read': true }],
    ['longer than the one needed', 'cookies:readonly'],
    ['shorter than the one needed', 'cookies'],
    ['a star', '*'],
    ['in capitals', 'COOKIES:READ'],
    ['joined by commas', 'cookies:read,cookies:write'],
    ['an array in an array', [['cookies:read']]],
  ])('is not enough when it is %s', async (_what, scope) => {
    expectError(await ask('GET', '/cookies', scope), 403, 'INSUFFICIENT_SCOPE');
  });
});

describe('with JWT_SCOPE_CLAIM=realm_access.roles', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService({ JWT_SCOPE_CLAIM: 'realm_access.roles' });
  });

  afterAll(() => service.stop());

  const status = async (payload: Record<string, unknown>): Promise<number> =>
    (await list(service, `Bearer ${jws(HS256, claims({ scope: undefined, ...payload }))}`)).status;

  it.each<[what: string, payload: Record<string, unknown>]>([
    ['an array', { realm_access: { roles: ['admin', 'cookies:read'] } }],
    ['a text', { realm_access: { roles: 'cookies:read' } }],
  ])('the scopes are found in the claim inside, as %s', async (_what, payload) => {
    expect(await status(payload)).toBe(200);
  });

  it.each<[what: string, payload: Record<string, unknown>]>([
    ['nowhere', {}],
    ['in the usual claim', { scope: BOTH }],
    ['in a claim whose name has the dot', { 'realm_access.roles': ['cookies:read'] }],
    ['one claim too high', { realm_access: ['cookies:read'] }],
    ['one claim too low', { realm_access: { roles: { roles: ['cookies:read'] } } }],
    ['under null', { realm_access: null }],
    ['under a text', { realm_access: 'roles' }],
  ])('the scopes are not found %s', async (_what, payload) => {
    expect(await status(payload)).toBe(403);
  });
});

class NoteDto {
  @IsString()
  text!: string;

  @IsOptionalNotNull()
  @IsInt()
  stars?: number;
}

class NotesQuery {
  @IsOptionalNotNull()
  @QueryInteger()
  @IsInt()
  @Min(1)
  @Max(10)
  top?: number;
}

/** A feature as a team would add it, with all that can be right or forgotten in it. */
@Controller('notes')
class NotesController {
  constructor(private readonly jwt: JwtService) {}

  @Get('forgotten')
  forgotten(): string[] {
    return ['nobody reads this'];
  }

  @Get('open')
  @Public()
  open(): string[] {
    return ['everybody reads this'];
  }

  @Get('failing')
  @Public()
  failing(): never {
    throw new Error('a detail of the inside');
  }

  @Get('named')
  @Scopes('notes:read')
  named(@Query('name') name: string): { name: string } {
    return { name };
  }

  @Get('mine')
  @Public()
  @UseGuards(AuthGuard('jwt'))
  mine(@Req() { user }: FastifyRequest): { subject: string } {
    return { subject: user!.subject };
  }

  @Post('sign-in')
  @Public()
  async signIn(@Body() { text }: NoteDto): Promise<{ token: string }> {
    const token = await this.jwt.signAsync({ scope: 'notes:read' }, { subject: text, expiresIn: '1m' });
    return { token };
  }

  @Get('both')
  @Scopes('notes:read', 'notes:audit')
  both(): string[] {
    return [];
  }

  @Get()
  @Scopes('notes:read')
  list(@Query() query: NotesQuery): NotesQuery {
    return query;
  }

  @Get(':note')
  @Scopes('notes:read')
  get(@Param('note', ParseIdPipe) id: number): { id: number } {
    return { id };
  }

  @Post()
  @Scopes('notes:write')
  create(@Body() note: NoteDto): { note: NoteDto; isDto: boolean } {
    return { note, isDto: note instanceof NoteDto };
  }
}

@Controller('board')
@Public()
class BoardController {
  @Get()
  read(): string[] {
    return [];
  }

  @Get('minutes')
  @Scopes('notes:read')
  minutes(): string[] {
    return [];
  }

  @Post()
  write(@Body() note: NoteDto): NoteDto {
    return note;
  }
}

/** What its methods say wins over what the class says. */
@Controller('audits')
@Scopes('notes:audit')
class AuditsController {
  @Get()
  list(): string[] {
    return [];
  }

  @Get('summary')
  @Public()
  summary(): string[] {
    return [];
  }

  @Get('own')
  @Scopes('notes:read')
  own(): string[] {
    return [];
  }
}

@Module({ controllers: [NotesController, BoardController, AuditsController] })
class NotesModule {}

describe('a module that a team has added', () => {
  let service: Service;
  let stranger: Client;
  let member: Client;

  beforeAll(async () => {
    service = await startService({}, [NotesModule]);
    stranger = Client.bearing(service);
    member = Client.bearing(service, jws(HS256, claims({ scope: 'notes:read notes:write' })));
  });

  afterAll(() => service.stop());

  it('keeps a route closed to everyone as long as nobody has said who may use it', async () => {
    expectError(await stranger.get('/notes/forgotten'), 401, 'UNAUTHENTICATED');
    expectError(await member.get('/notes/forgotten'), 403, 'FORBIDDEN');
  });

  it('opens a route with @Public()', async () => {
    for (const client of [stranger, member, Client.bearing(service, 'not-a-token')]) {
      expect((await client.get('/notes/open')).body).toEqual(['everybody reads this']);
    }
  });

  it('asks for a token on an open route with AuthGuard("jwt"), with the same errors', async () => {
    expect((await member.get('/notes/mine')).body).toEqual({ subject: 'alice' });
    expectError(await stranger.get('/notes/mine'), 401, 'UNAUTHENTICATED');
    expectInvalidToken(await Client.bearing(service, jws(HS256, claims({ exp: 1 }))).get('/notes/mine'));
  });

  it('signs tokens by JwtService, as its own login would', async () => {
    const { body } = await stranger.request('POST', '/notes/sign-in', { body: { text: 'bob' } });
    const bob = Client.bearing(service, body.token);
    expect((await bob.get('/notes/mine')).body).toEqual({ subject: 'bob' });
    expect((await bob.get('/notes')).status).toBe(200);
    expectError(await bob.get('/cookies'), 403, 'INSUFFICIENT_SCOPE');
  });

  it('opens all routes of a class with @Public()', async () => {
    expect((await stranger.get('/board')).status).toBe(200);
    expect((await stranger.request('POST', '/board', { body: { text: 'x' } })).status).toBe(201);
  });

  it('asks for what a handler says, and not for what its class says', async () => {
    expectError(await member.get('/audits'), 403, 'INSUFFICIENT_SCOPE');
    expect((await member.get('/audits/own')).status).toBe(200);
    expectError(await stranger.get('/audits/own'), 401, 'UNAUTHENTICATED');
    expect((await stranger.get('/audits/summary')).status).toBe(200);
    expectError(await stranger.get('/board/minutes'), 401, 'UNAUTHENTICATED');
    expect((await member.get('/board/minutes')).status).toBe(200);
  });

  it('opens a route with @Scopes() to those who have them', async () => {
    expectError(await stranger.get('/notes'), 401, 'UNAUTHENTICATED');
    expect((await member.get('/notes')).status).toBe(200);
    const answer = await (await Client.of(service)).get('/notes');
    expectError(answer, 403, 'INSUFFICIENT_SCOPE');
    expect(answer.headers.get('www-authenticate')).toBe(
      'Bearer realm="cookies", error="insufficient_scope", scope="notes:read"',
    );
  });

  it('asks for all of several scopes', async () => {
    const answer = await member.get('/notes/both');
    expectError(answer, 403, 'INSUFFICIENT_SCOPE');
    expect(answer.headers.get('www-authenticate')).toContain('scope="notes:read notes:audit"');
    const auditor = Client.bearing(service, jws(HS256, claims({ scope: 'notes:audit notes:read' })));
    expect((await auditor.get('/notes/both')).status).toBe(200);
  });

  it('gets bodies as its DTO says', async () => {
    const created = await member.request('POST', '/notes', { body: { text: 'x', stars: 3 } });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({ note: { text: 'x', stars: 3 }, isDto: true });
  });

  it.each<[errorCode: string, what: string, body: unknown]>([
    ['INVALID_REQUEST', 'a missing member', {}],
    ['INVALID_REQUEST', 'a member of another type', { text: 1 }],
    ['INVALID_REQUEST', 'a number as a text', { text: 'x', stars: '3' }],
    ['INVALID_REQUEST', 'null for a member that may be absent', { text: 'x', stars: null }],
    ['INVALID_REQUEST', 'an unknown member', { text: 'x', colour: 'red' }],
    ['INVALID_REQUEST', 'an array', [{ text: 'x' }]],
    ['MALFORMED_JSON', 'half an object', '{"text":'],
  ])('never gets a bad body (%s: %s)', async (errorCode, _what, body) => {
    for (const [client, path] of [
      [member, '/notes'],
      [stranger, '/board'],
    ] as const) {
      expectError(await client.request('POST', path, { body }), 400, errorCode);
    }
  });

  it('never gets a body of another type', async () => {
    const form = { body: 'text=x', headers: { 'content-type': 'application/x-www-form-urlencoded' } };
    expectError(await stranger.request('POST', '/board', form), 415, 'UNSUPPORTED_MEDIA_TYPE');
  });

  it('gets queries as its DTO says', async () => {
    expect((await member.get('/notes?top=3')).body).toEqual({ top: 3 });
    expect((await member.get('/notes')).body).toEqual({});
  });

  it.each(['top=0', 'top=11', 'top=x', 'top=', 'top=1&top=2', 'tip=3', 'top=3&x=1', '__proto__=1'])(
    'never gets a bad query (?%s)',
    async (query) => {
      expectError(await member.get(`/notes?${query}`), 400, 'INVALID_REQUEST');
    },
  );

  it('rejects a parameter that its route does not know', async () => {
    expectError(await member.get('/notes/1?x=1'), 400, 'INVALID_REQUEST');
    expectError(await stranger.get('/notes/open?x=1'), 400, 'INVALID_REQUEST');
    expectError(await stranger.get('/board?x=1'), 400, 'INVALID_REQUEST');
  });

  it('rejects a misspelt parameter also where a route names its parameters one by one', async () => {
    expect((await member.get('/notes/named?name=x')).body).toEqual({ name: 'x' });
    for (const query of ['nmae=x', 'name=x&nmae=x']) {
      expectError(await member.get(`/notes/named?${query}`), 400, 'INVALID_REQUEST');
    }
  });

  it('names the parameter of a bad id as its route does', async () => {
    const answer = await member.get('/notes/0');
    expectError(answer, 400, 'INVALID_REQUEST');
    expect(answer.body.details).toEqual([{ parameter: 'note', message: expect.any(String) }]);
  });

  it('responds to an unforeseen error with 500, which says nothing of the inside', async () => {
    const answer = await stranger.get('/notes/failing');
    expectError(answer, 500, 'INTERNAL_SERVER_ERROR');
    expect(answer.text).not.toContain('inside');
    expect(answer.text).not.toContain('.ts');
  });

  it('responds to OPTIONS and other methods as every path does', async () => {
    const options = await stranger.request('OPTIONS', '/notes');
    expect(options.status).toBe(204);
    expect(options.headers.get('allow')).toBe('GET, HEAD, OPTIONS, POST');
    expectError(await stranger.request('DELETE', '/notes'), 405, 'METHOD_NOT_ALLOWED');
    expectError(await stranger.get('/notes/1/2'), 404, 'NOT_FOUND');
  });
});
