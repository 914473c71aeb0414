import { createPrivateKey } from 'node:crypto';
import { jest } from '@jest/globals';
import { decodeProtectedHeader, type JWK, SignJWT } from 'jose';
import { expectError } from '../support/expect-error.js';
import { sharedService, startService } from '../support/service.js';
import { shared } from '../support/shared.js';
import { until } from '../support/until.js';
import { claims, expectInvalidToken, list } from './jws.js';
import { AUDIENCE, OpenIdProvider, privateJwk } from './openid-provider.js';

const CLIENTS = 8;

const now = performance.now.bind(performance);
let passed = 0;

/** Advances the clock by 5 s, the shortest time between two loads of the keys. */
const pass5Seconds = (): void => void (passed += 5000);

beforeAll(() => {
  jest.spyOn(performance, 'now').mockImplementation(() => now() + passed);
});

afterAll(() => jest.restoreAllMocks());

const keys = {
  first: await privateJwk('RS256', 'first'),
  second: await privateJwk('ES384', 'second'),
  third: await privateJwk('EdDSA', 'third'),
  fourth: await privateJwk('PS256', 'fourth'),
  fifth: await privateJwk('ES256', 'fifth'),
};

const settingsFor = ({ issuer }: OpenIdProvider) => ({
  ...{ JWT_SECRET: undefined, JWT_ISSUER: issuer, JWT_AUDIENCE: AUDIENCE },
  LOG_LEVEL: 'silent',
});

describe('a service with JWT_ISSUER and JWT_AUDIENCE of an OpenID provider', () => {
  const provider = shared(() => OpenIdProvider.start([keys.first]));
  const { service } = sharedService(() => settingsFor(provider));

  const keySetLoads = (): number => provider.requests.filter((path) => path === '/jwks').length;

  /** A token like those of the provider, signed by the test, which works while the provider is stopped. */
  const signed = (key: JWK): Promise<string> =>
    new SignJWT(claims({ iss: provider.issuer, aud: AUDIENCE, jti: crypto.randomUUID() }))
      .setProtectedHeader({ alg: key.alg!, kid: key.kid, typ: 'at+jwt' })
      .sign(createPrivateKey({ key: key as never, format: 'jwk' }));

  it('accepts its tokens (client credentials) with their scopes', async () => {
    const token = await provider.token();
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'RS256', typ: 'at+jwt', kid: 'first' });
    expect((await list(service, token)).status).toBe(200);
    expectError(await list(service, await provider.token({ scope: 'cookies:write' })), 403, 'INSUFFICIENT_SCOPE');
  });

  it(`accepts every token of ${CLIENTS} clients while keys rotate`, async () => {
    const loads = keySetLoads();
    const statuses: Record<number, number> = {};
    let tokens = 0;
    let isOver = false;
    const client = async (): Promise<void> => {
      while (!isOver) {
        const token = await provider.token();
        tokens += 1;
        for (let time = 0; time < 3; time++) {
          const { status } = await list(service, token);
          statuses[status] = (statuses[status] ?? 0) + 1;
        }
      }
    };
    const clients = Array.from({ length: CLIENTS }, client);
    for (const rotated of [
      [keys.second, keys.first],
      [keys.third, keys.second, keys.first],
    ]) {
      provider.setKeys(rotated);
      pass5Seconds();
      const before = tokens;
      await until(() => tokens > before + 2 * CLIENTS, 'each client has new tokens');
    }
    isOver = true;
    await Promise.all(clients);
    expect(Object.keys(statuses)).toEqual(['200']);
    expect(keySetLoads() - loads).toBeLessThanOrEqual(4);
  });

  it('rejects a token of a removed key as soon as the keys are loaded again, though it was cached', async () => {
    const old = await signed(keys.second);
    expect((await list(service, old)).status).toBe(200);
    provider.setKeys([keys.fourth]);
    pass5Seconds();
    expect((await list(service, await provider.token())).status).toBe(200);
    // The key id of the token is unknown now, so the keys are loaded once more.
    pass5Seconds();
    expectInvalidToken(await list(service, old));
  });

  it('accepts a token of a key that replaces another one with the same key id', async () => {
    provider.setKeys([await privateJwk('ES256', 'fourth')]);
    pass5Seconds();
    expect((await list(service, await provider.token())).status).toBe(200);
    expectInvalidToken(await list(service, await signed(keys.fourth)));
    provider.setKeys([keys.fourth]);
    pass5Seconds();
    expect((await list(service, await provider.token())).status).toBe(200);
  });

  it('while the provider is stopped, known keys work and others are 503 with Retry-After', async () => {
    const known = await provider.token();
    await provider.stop();
    provider.setKeys([keys.fifth, keys.fourth]);
    for (const token of [known, await signed(keys.fourth)]) expect((await list(service, token)).status).toBe(200);
    const fresh = await signed(keys.fifth);
    pass5Seconds();
    for (let time = 0; time < 3; time++) {
      const answer = await list(service, fresh);
      expectError(answer, 503, 'SERVICE_UNAVAILABLE');
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    await provider.listen();
    pass5Seconds();
    expect((await list(service, fresh)).status).toBe(200);
    expect((await list(service, await provider.token())).status).toBe(200);
  });

  it('loads the keys at most every 5 s under a flood of unknown keys, and accepts a new key meanwhile', async () => {
    const loads = keySetLoads();
    const begin = performance.now();
    const flood = Array.from({ length: 100 }, async (_, index) =>
      list(service, await signed({ ...keys.first, kid: `unknown ${index}` })),
    );
    provider.setKeys([keys.first, keys.fifth]);
    expect((await list(service, await provider.token())).status).toBe(200);
    for (const answer of await Promise.all(flood)) expectInvalidToken(answer);
    expect(keySetLoads() - loads).toBeLessThanOrEqual(1 + Math.ceil((performance.now() - begin) / 5000));
  });
});

it('a service that starts while its provider is stopped responds with 503 until the provider is back', async () => {
  await using provider = await OpenIdProvider.start([await privateJwk('ES256', 'only')]);
  const token = await provider.token();
  await provider.stop();
  await using service = await startService(settingsFor(provider));
  expectError(await list(service, token), 503, 'SERVICE_UNAVAILABLE');
  await provider.listen();
  pass5Seconds();
  expect((await list(service, token)).status).toBe(200);
});
