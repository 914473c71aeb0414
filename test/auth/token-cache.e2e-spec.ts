import { TokenVerifier } from '../../src/auth/token-verifier.js';
import { expectError } from '../support/expect-error.js';
import { Client, COOKIE, type Service, startService } from '../support/service.js';
import { claims, expectInvalidToken, HS256, jws, list } from './jws.js';

describe('a token that was accepted before', () => {
  const { jest: clock } = import.meta;
  let service: Service;

  beforeAll(async () => {
    service = await startService();
    // Only `Date` is fake: sockets and timers keep working.
    const timers = ['setImmediate', 'clearImmediate', 'setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'];
    const others = ['hrtime', 'nextTick', 'performance', 'queueMicrotask'];
    clock.useFakeTimers({ doNotFake: [...timers, ...others] as 'hrtime'[] });
  });

  afterAll(async () => {
    clock.useRealTimers();
    await service.stop();
  });

  it.each([
    ['that is cached', {}],
    ['that is too long for the cache', { note: 'x'.repeat(9000) }],
  ])('is 401 from 30 s after its exp (a token %s)', async (_what, more) => {
    const start = Date.now();
    const token = jws(HS256, claims({ exp: Math.floor(start / 1000) + 10, ...more }));
    const at = async (seconds: number): Promise<number> => {
      clock.setSystemTime(start + seconds * 1000);
      return (await list(service, token)).status;
    };
    expect([await at(0), await at(9), await at(11), await at(38)]).toEqual([200, 200, 200, 200]);
    expect([await at(41), await at(3600)]).toEqual([401, 401]);
    expectInvalidToken(await list(service, token));
  });

  it.each([
    ['once', 'that is cached', 1, {}],
    ['for each request', 'that is too long for the cache', 3, { note: 'x'.repeat(9000) }],
  ])('is verified %s (a token %s)', async (_when, _what, times, more) => {
    const verifier = service.app.get<{ payloadOf(token: string): unknown }>(TokenVerifier, { strict: false });
    const verifications = clock.spyOn(verifier, 'payloadOf');
    const token = jws(HS256, claims({ sub: `verified ${times}`, ...more }));
    for (let time = 0; time < 3; time++) expect((await list(service, token)).status).toBe(200);
    expect(verifications).toHaveBeenCalledTimes(times);
    verifications.mockRestore();
  });

  it('gets its own permission among many first requests at the same time', async () => {
    const clients = await Promise.all(
      Array.from({ length: 32 }, (_, index) =>
        Client.of(service, { subject: `client-${index}`, scope: index % 2 === 0 ? 'cookies:read' : 'cookies:write' }),
      ),
    );
    const answers = await Promise.all(clients.map((client) => client.get('/cookies')));
    expect(answers.map(({ status }) => status)).toEqual(clients.map((_, index) => (index % 2 === 0 ? 200 : 403)));
  });

  it('still needs the scope of each route', async () => {
    const reader = Client.bearing(service, jws(HS256, claims({ scope: 'cookies:read' })));
    expect((await reader.get('/cookies')).status).toBe(200);
    expectError(await reader.post(COOKIE), 403, 'INSUFFICIENT_SCOPE');
  });
});
