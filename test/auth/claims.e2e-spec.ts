import { JwtAuthGuard } from '../../src/auth/jwt-auth.guard.js';
import { expectError } from '../support/expect-error.js';
import { type Answer, Client, COOKIE, sharedService, startService } from '../support/service.js';
import { BOTH, claims, expectInvalidToken, HS256, jws, list, now } from './jws.js';

type Changes = Record<string, unknown> | (() => Record<string, unknown>);

/** A token with changed claims. A function computes times when the test runs. */
const tokenWith = (changes: Changes): string => jws(HS256, claims(typeof changes === 'function' ? changes() : changes));

const MANY_SCOPES = Array.from({ length: 2000 }, (_, index) => index.toString(36));

describe('the claims of a token', () => {
  const { service } = sharedService();

  it.each<[what: string, changes: Changes]>([
    ['an issuer and an audience that are not configured', { iss: 'x', aud: ['y', 'z'] }],
    ['exp 25 s ago, because clocks differ', () => ({ exp: now() - 25 })],
    ['nbf in 25 s, because clocks differ', () => ({ nbf: now() + 25 })],
    ['exp in a year', () => ({ exp: now() + 365 * 86_400 })],
    ['more characters than a cached token may have', { note: 'x'.repeat(9000) }],
    ['more scopes than a cached token may have', { scope: [BOTH, ...MANY_SCOPES].join(' ') }],
    ['a sub of 1024 characters', { sub: 's'.repeat(1024) }],
  ])('a token with %s is accepted, from the cache too', async (_what, changes) => {
    const token = tokenWith(changes);
    for (let time = 0; time < 2; time++) expect((await list(service, token)).status).toBe(200);
  });

  it.each<[what: string, changes: Changes]>([
    ['exp 35 s ago', () => ({ exp: now() - 35 })],
    ['nbf in 35 s', () => ({ nbf: now() + 35 })],
    ['exp as a string', () => ({ exp: String(now() + 3600) })],
    ['exp in 367 days', () => ({ exp: now() + 367 * 86_400 })],
    ['an empty sub', { sub: '' }],
    ['sub as a number', { sub: 7 }],
    ['a sub of 1025 characters', { sub: 's'.repeat(1025) }],
    ['an iss of 1025 characters', { iss: 'i'.repeat(1025) }],
  ])('a token with %s is 401', async (_what, changes) => {
    expectInvalidToken(await list(service, tokenWith(changes)));
  });

  it('exp 1e999 is 401', async () => {
    const payload = JSON.stringify(claims({ exp: 7 })).replace('"exp":7', '"exp":1e999');
    expectInvalidToken(await list(service, jws(HS256, payload)));
  });

  it('a token that has a claim twice counts with the last value', async () => {
    const payload = JSON.stringify(claims());
    expect((await list(service, jws(HS256, payload.replace('{', '{"sub":7,')))).status).toBe(200);
    expectInvalidToken(await list(service, jws(HS256, payload.replace(/}$/, ',"sub":7}'))));
  });

  const send = (method: string, path: string, scope: unknown, body?: unknown): Promise<Answer> =>
    Client.bearing(service, jws(HS256, claims({ scope }))).request(method, path, { body });

  it('POST, PATCH and DELETE work with only cookies:write', async () => {
    const created = await send('POST', '/cookies', 'cookies:write', COOKIE);
    const path = created.headers.get('location')!;
    expect(created.status).toBe(201);
    expect((await send('PATCH', path, 'cookies:write', { size: 'large' })).status).toBe(204);
    expect((await send('DELETE', path, 'cookies:write')).status).toBe(204);
  });

  it.each<[status: number, what: string, scope: unknown]>([
    [200, 'a string with others', 'openid  cookies:read email'],
    [200, 'an array', ['cookies:write', 'cookies:read']],
    [200, 'an array with other values', [1, null, { a: 1 }, 'cookies:read']],
    [403, 'missing', undefined],
    [403, 'empty', ''],
    [403, 'longer than the required one', 'cookies:readonly'],
    [403, 'joined by commas', 'cookies:read,cookies:write'],
  ])('GET /cookies returns %i when the scope is %s', async (status, _what, scope) => {
    const answer = await send('GET', '/cookies', scope);
    if (status === 200) expect(answer.status).toBe(200);
    else expectError(answer, 403, 'INSUFFICIENT_SCOPE');
  });
});

const ISSUER = 'https://login.example.com/';
const OURS = { iss: ISSUER, aud: 'cookies' };

describe('with JWT_ISSUER, JWT_AUDIENCE and JWT_MAX_LIFETIME=3600', () => {
  const { service } = sharedService({ JWT_ISSUER: ISSUER, JWT_AUDIENCE: 'cookies', JWT_MAX_LIFETIME: '3600' });

  it.each<[what: string, changes: Changes]>([
    ['the audience among others', { aud: ['other', 'cookies'] }],
    ['exp 25 s later, because clocks differ', () => ({ exp: now() + 3625 })],
    ['iat a year ago and an hour left', () => ({ iat: now() - 31_536_000, exp: now() + 3600 })],
  ])('a token with %s is accepted', async (_what, changes) => {
    const more = typeof changes === 'function' ? changes() : changes;
    expect((await list(service, tokenWith({ ...OURS, ...more }))).status).toBe(200);
  });

  it.each<[what: string, changes: Record<string, unknown>]>([
    ['another issuer', { iss: 'https://evil.example/' }],
    ['the issuer without its last slash', { iss: ISSUER.slice(0, -1) }],
    ['another audience', { aud: 'cookies2' }],
    ['an empty array of audiences', { aud: [] }],
  ])('a token with %s is 401', async (_what, changes) => {
    expectInvalidToken(await list(service, tokenWith({ ...OURS, ...changes })));
  });

  it.each<[what: string, changes: () => Record<string, unknown>]>([
    ['exp 35 s after an hour', () => ({ exp: now() + 3635 })],
    ['exp in two hours and iat in one', () => ({ iat: now() + 3600, exp: now() + 7200 })],
  ])('a token with %s is 401, and the message names the limit', async (_what, changes) => {
    const answer = await list(service, tokenWith({ ...OURS, ...changes() }));
    expectInvalidToken(answer);
    expect(answer.body.message).toMatch(/exp.*3600 seconds/);
  });
});

describe('with JWT_SCOPE_CLAIM=realm_access.roles', () => {
  const { service } = sharedService({ JWT_SCOPE_CLAIM: 'realm_access.roles' });

  it.each<[status: number, what: string, payload: Record<string, unknown>]>([
    [200, 'in an array at the path', { realm_access: { roles: ['admin', 'cookies:read'] } }],
    [200, 'in a string at the path', { realm_access: { roles: 'cookies:read' } }],
    [403, 'nowhere', {}],
    [403, 'in the claim scope', { scope: BOTH }],
    [403, 'in a claim whose name contains the dot', { 'realm_access.roles': ['cookies:read'] }],
    [403, 'nowhere, because the outer claim is a string', { realm_access: 'roles' }],
  ])('GET /cookies returns %i when the scopes are %s', async (status, _what, payload) => {
    expect((await list(service, jws(HS256, claims({ scope: undefined, ...payload })))).status).toBe(status);
  });
});

it('a test replaces the check of tokens and scopes with overrideProvider(JwtAuthGuard)', async () => {
  const open = { canActivate: () => true };
  await using service = await startService({}, [], [], (module) =>
    module.overrideProvider(JwtAuthGuard).useValue(open),
  );
  expect((await Client.bearing(service).get('/cookies')).status).toBe(200);
});
