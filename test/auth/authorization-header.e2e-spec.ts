import { expectError } from '../support/expect-error.js';
import { type Answer, Client, type Service, startService } from '../support/service.js';
import { claims, HS256, jws } from './jws.js';

const BARE_CHALLENGE = 'Bearer realm="cookies"';

describe('the Authorization header', () => {
  let service: Service;
  const token = jws(HS256, claims());

  beforeAll(async () => {
    service = await startService();
  });

  afterAll(() => service.stop());

  const list = (authorization?: string): Promise<Answer> =>
    Client.bearing(service).get('/cookies', authorization === undefined ? {} : { authorization });

  it.each(['Bearer ', 'bearer ', 'BEARER ', 'bEaReR ', 'Bearer   ', ''])(
    'GET /cookies returns 200 with "%s" before the token',
    async (scheme) => {
      expect((await list(scheme + token)).status).toBe(200);
    },
  );

  it.each([
    ['no field', undefined],
    ['an empty field', ''],
    ['only the scheme', 'Bearer'],
    ['another scheme', 'Basic YWxpY2U6c2VjcmV0'],
    ['a valid token in the scheme Basic', `Basic ${token}`],
    ['a valid token in the scheme Token', `Token ${token}`],
    ['neither scheme nor token', 'alice'],
  ])('GET /cookies returns 401 with the bare challenge for %s', async (_what, authorization) => {
    const answer = await list(authorization);
    expectError(answer, 401, 'UNAUTHENTICATED');
    expect(answer.headers.get('www-authenticate')).toBe(BARE_CHALLENGE);
  });

  it.each([
    ['text after the token', `Bearer ${token} more`],
    ['text before the scheme', `x Bearer ${token}`],
    ['a second token after a comma', `Bearer ${token}, Bearer ${token}`],
    ['parameters after the token', `Bearer ${token},realm="x"`],
    ['nothing between the scheme and the token', `Bearer${token}`],
    ['quotes around the token', `Bearer "${token}"`],
    ['text after a token without scheme', `${token} more`],
  ])('GET /cookies returns 401 for %s', async (_what, authorization) => {
    const answer = await list(authorization);
    expectError(answer, 401, answer.body.errorCode);
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer realm="cookies"/);
  });

  it('a token in the query, a cookie or a form is 401', async () => {
    const stranger = Client.bearing(service);
    const form = { body: `access_token=${token}`, headers: { 'content-type': 'application/x-www-form-urlencoded' } };
    expectError(await stranger.get(`/cookies?access_token=${token}`), 401, 'UNAUTHENTICATED');
    expectError(await stranger.get('/cookies', { cookie: `access_token=${token}` }), 401, 'UNAUTHENTICATED');
    expectError(await stranger.request('POST', '/cookies', form), 401, 'UNAUTHENTICATED');
  });
});
