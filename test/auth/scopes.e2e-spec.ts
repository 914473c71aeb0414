import { JwtAuthGuard } from '../../src/auth/jwt-auth.guard.js';
import { expectError } from '../support/expect-error.js';
import { type Answer, Client, COOKIE, type Service, startService } from '../support/service.js';
import { BOTH, claims, HS256, jws, list } from './jws.js';

describe('the scope of a token', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService();
  });

  afterAll(() => service.stop());

  const send = (method: string, path: string, scope: unknown, body?: unknown): Promise<Answer> =>
    Client.bearing(service, jws(HS256, claims({ scope }))).request(method, path, { body });

  it('GET and HEAD return 200 with only cookies:read', async () => {
    for (const method of ['GET', 'HEAD']) expect((await send(method, '/cookies', 'cookies:read')).status).toBe(200);
  });

  it('POST, PATCH and DELETE work with only cookies:write', async () => {
    const created = await send('POST', '/cookies', 'cookies:write', COOKIE);
    const path = created.headers.get('location')!;
    expect(created.status).toBe(201);
    expect((await send('PATCH', path, 'cookies:write', { size: 'large' })).status).toBe(204);
    expect((await send('DELETE', path, 'cookies:write')).status).toBe(204);
  });

  it.each<[status: number, what: string, scope: unknown]>([
    [200, 'a string', BOTH],
    [200, 'a string with others', 'openid  cookies:read email'],
    [200, 'an array', ['cookies:write', 'cookies:read']],
    [200, 'an array with other values', [1, null, { a: 1 }, 'cookies:read']],
    [403, 'missing', undefined],
    [403, 'null', null],
    [403, 'empty', ''],
    [403, 'an empty array', []],
    [403, 'true', true],
    [403, 'a number', 1],
    [403, 'an object', { 'cookies:read': true }],
    [403, 'longer than the required one', 'cookies:readonly'],
    [403, 'shorter than the required one', 'cookies'],
    [403, 'a star', '*'],
    [403, 'in capitals', 'COOKIES:READ'],
    [403, 'joined by commas', 'cookies:read,cookies:write'],
    [403, 'an array in an array', [['cookies:read']]],
  ])('GET /cookies returns %i when the scope is %s', async (status, _what, scope) => {
    const answer = await send('GET', '/cookies', scope);
    if (status === 200) expect(answer.status).toBe(200);
    else expectError(answer, 403, 'INSUFFICIENT_SCOPE');
  });
});

describe('with JWT_SCOPE_CLAIM=realm_access.roles', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService({ JWT_SCOPE_CLAIM: 'realm_access.roles' });
  });

  afterAll(() => service.stop());

  it.each<[status: number, what: string, payload: Record<string, unknown>]>([
    [200, 'in an array at the path', { realm_access: { roles: ['admin', 'cookies:read'] } }],
    [200, 'in a string at the path', { realm_access: { roles: 'cookies:read' } }],
    [403, 'nowhere', {}],
    [403, 'in the claim scope', { scope: BOTH }],
    [403, 'in a claim whose name contains the dot', { 'realm_access.roles': ['cookies:read'] }],
    [403, 'one claim too high', { realm_access: ['cookies:read'] }],
    [403, 'one claim too low', { realm_access: { roles: { roles: ['cookies:read'] } } }],
    [403, 'nowhere, because the outer claim is null', { realm_access: null }],
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
