import { spawnSync } from 'node:child_process';
import { TokenVerifier } from '../../src/auth/token-verifier.js';
import { projectModule } from '../support/faults/preloaded.js';
import { Client, sharedService } from '../support/service.js';
import { claims, expectInvalidToken, HS256, jws, list } from './jws.js';

describe('a token that was accepted before', () => {
  const { jest: clock } = import.meta;
  const { service } = sharedService();

  beforeAll(() => {
    // Only `Date` is fake: sockets and timers keep working.
    const timers = ['setImmediate', 'clearImmediate', 'setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'];
    const others = ['hrtime', 'nextTick', 'performance', 'queueMicrotask'];
    clock.useFakeTimers({ doNotFake: [...timers, ...others] as 'hrtime'[] });
  });

  afterAll(() => clock.useRealTimers());

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

  it('has a principal for each request, to which code may add properties', async () => {
    const verifier = service.app.get(TokenVerifier, { strict: false });
    const token = jws(HS256, claims({ sub: 'carol' }));
    for (let time = 0; time < 3; time++) {
      const principal = await verifier.verify(token);
      expect(principal).not.toHaveProperty('account');
      Object.assign(principal, { account: 1 });
    }
  });

  it('has its own scopes when many tokens are first used at the same time', async () => {
    const clients = Array.from({ length: 32 }, (_, index) =>
      Client.of(service, { subject: `client-${index}`, scope: index % 2 === 0 ? 'cookies:read' : 'cookies:write' }),
    );
    const answers = await Promise.all(clients.map((client) => client.get('/cookies')));
    expect(answers.map(({ status }) => status)).toEqual(clients.map((_, index) => (index % 2 === 0 ? 200 : 403)));
  });
});

/** Bytes: far more than other allocations of a small process. */
const BOUND = 4 * 1024 * 1024;

/** Share of the bound by which the heap of a process differs from run to run. */
const NOISE = 0.01;

/** Prints the bytes that a full cache takes and estimates, for each kind of token. Jest's heap is slow to measure. */
const MEASURES = `
  import { newTokenCache } from '${projectModule('dist/src/auth/token-verifier.js')}';
  const heapUsed = () => {
    for (let round = 0; round < 3; round++) gc();
    return process.memoryUsage().heapUsed;
  };
  /** A token sliced from a header field, and the principal parsed from its claims. */
  const entry = (index, scope, padding = 0) => {
    const claims = JSON.stringify({ sub: 'subject-' + index, iss: 'https://login.example.com/', scope });
    const parts = [Buffer.from(claims).toString('base64url'), 'p'.repeat(padding), String(index).padStart(43, 's')];
    const field = Buffer.from('Bearer ' + parts.join('.')).toString('latin1');
    const { sub, iss, scope: parsed } = JSON.parse(claims);
    const scopes = new Set(typeof parsed === 'string' ? parsed.split(' ') : parsed);
    return [field.slice(7), { subject: sub, issuer: iss, scopes, expiresAt: 9e9 }];
  };
  const numbered = (count, name) => Array.from({ length: count }, (_, index) => name + index);
  const kinds = {

    'of common size': (index) => entry(index, 'cookies:read cookies:write', 200),
    'with a long signature': (index) => entry(index, 'cookies:read', 3000),
    'with 100 scopes in an array': (index) => entry(index, numbered(100, 'a-scope-of-some-length-')),

    'with claims beyond Latin-1': (index) => entry(index, numbered(100, 'scope-of-length-').join(' ') + ' 🍪'),
  };
  const measured = Object.entries(kinds).map(([kind, make]) => {
    const cache = newTokenCache(${BOUND});
    const before = heapUsed();
    let index = 0;
    // Some hundred entries more than fit, so that the oldest are evicted.
    for (let tooMany = 0; tooMany < 300; index++) {
      const { calculatedSize: bytes } = cache;
      cache.set(...make(index));
      if (cache.calculatedSize <= bytes) tooMany++;
    }
    const taken = heapUsed() - before;
    const [oldest, newest] = [0, index - 1].map((each) => cache.get(make(each)[0]) !== undefined);
    return { kind, taken, estimated: cache.calculatedSize, oldest, newest };
  });
  console.log(JSON.stringify(measured));`;

it('the cache of verified tokens stays below its limit of memory for every kind of token, and estimates at most five times the real size', () => {
  const args = ['--expose-gc', '--input-type=module', '-e', MEASURES];
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  const measured = JSON.parse(stdout) as { taken: number; estimated: number; oldest: boolean; newest: boolean }[];
  expect(measured).toHaveLength(4);
  const wrong = measured.filter(
    ({ taken, estimated, oldest, newest }) =>
      taken > (1 + NOISE) * BOUND ||
      estimated > BOUND ||
      estimated < 0.9 * BOUND ||
      taken < BOUND / 5 ||
      oldest ||
      !newest,
  );
  expect(wrong).toEqual([]);
});
