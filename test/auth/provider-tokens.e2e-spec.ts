import { generateKeyPairSync } from 'node:crypto';
import { expectError } from '../support/expect-error.js';
import { startServer } from '../support/local-server.js';
import { shared } from '../support/shared.js';
import { SECRET, sharedService } from '../support/service.js';
import { claims, expectInvalidToken, HS256, hmac, jws, list, now, rsa } from './jws.js';

/** The settings and the access tokens of identity providers, as documented, without ids of sessions and devices. */
interface ProviderTokens {
  readonly issuer: string;
  readonly audience: string;
  readonly scopeClaim?: string;
  readonly header: object;
  readonly payload: Record<string, unknown>;
  /** Claims of another token of the provider: an ID token, or a token for another API. */
  readonly other: Record<string, unknown>;
}

const PROVIDERS: Record<string, ProviderTokens> = {
  'Keycloak, roles of a client': {
    issuer: 'https://login.example.com/realms/roles',
    audience: 'cookies',
    scopeClaim: 'resource_access.cookies.roles',
    header: { alg: 'RS256', typ: 'JWT', kid: 'key' },
    payload: {
      aud: ['cookies', 'account'],
      sub: 'f1f2f3f4-9a4f-4d11-8a5e-2b6c7d8e9f00',
      typ: 'Bearer',
      azp: 'shop',
      resource_access: { cookies: { roles: ['cookies:read'] }, account: { roles: ['manage-account'] } },
      scope: 'openid profile email',
    },
    other: { typ: 'ID', aud: 'shop', resource_access: undefined },
  },
  'Auth0, a claim that an action adds': {
    issuer: 'https://actions.eu.auth0.com/',
    audience: 'https://cookies.example.com',
    scopeClaim: 'https://cookies.example.com/roles',
    header: { alg: 'RS256', typ: 'JWT', kid: 'key' },
    payload: {
      aud: ['https://cookies.example.com', 'https://actions.eu.auth0.com/userinfo'],
      sub: 'auth0|65f1c0ffee0123456789abcd',
      scope: 'openid profile',
      'https://cookies.example.com/roles': ['cookies:read'],
    },
    other: { aud: 'x7Qm2LkP9sT4vW8y', nonce: 'n' },
  },
  'Auth0, profile RFC 9068': {
    issuer: 'https://bakery.eu.auth0.com/',
    audience: 'https://cookies.example.com',
    header: { alg: 'RS256', typ: 'at+jwt', kid: 'key' },
    payload: {
      sub: 'x7Qm2LkP9sT4vW8y@clients',
      aud: 'https://cookies.example.com',
      iat: now(),
      scope: 'cookies:read cookies:write',
      client_id: 'x7Qm2LkP9sT4vW8y',
    },
    other: { aud: 'x7Qm2LkP9sT4vW8y', nonce: 'n', scope: undefined },
  },
  'Microsoft Entra, v2.0, a user': {
    issuer: 'https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0',
    audience: 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee',
    scopeClaim: 'scp,roles',
    header: { typ: 'JWT', alg: 'RS256', kid: 'key' },
    payload: {
      aud: 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee',
      iat: now(),
      nbf: now(),
      azp: '99999999-8888-7777-6666-555555555555',
      oid: '12345678-1234-1234-1234-123456789abc',
      scp: 'cookies:read cookies:write',
      sub: 'HKZpfaHyWadeOouYlitjrI-KffTm222X5rrV3xDqfKQ',
      tid: '11111111-2222-3333-4444-555555555555',
      ver: '2.0',
    },
    other: { aud: '00000003-0000-0000-c000-000000000000', scp: 'User.Read' },
  },
  'Okta, a custom authorization server': {
    issuer: 'https://bakery.okta.com/oauth2/default',
    audience: 'api://default',
    scopeClaim: 'scp',
    header: { kid: 'key', alg: 'RS256' },
    payload: {
      ver: 1,
      aud: 'api://default',
      iat: now(),
      cid: '0oa1baker2CLIENT3id4',
      scp: ['cookies:read', 'cookies:write'],
      sub: '0oa1baker2CLIENT3id4',
    },
    other: { aud: '0oa1baker2CLIENT3id4', scp: undefined, amr: ['pwd'] },
  },
};

describe('with JWT_ISSUERS of five issuers, and JWT_SECRET', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const signature = rsa('sha256', privateKey);
  // Microsoft publishes keys without `alg`, and with certificates.
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'key', use: 'sig', x5t: 'key', x5c: ['MIIC'] };
  const keySet = shared(() => startServer((_request, response) => response.end(JSON.stringify({ keys: [jwk] }))));

  const { service } = sharedService(() => {
    const issuers = Object.values(PROVIDERS).map(({ issuer, audience, scopeClaim }) => {
      return { issuer, audience, scopeClaim, jwksUri: `${keySet.url}/keys` };
    });
    return { JWT_SECRET: SECRET, JWT_ISSUERS: JSON.stringify(issuers) };
  });

  const tokenOf = ({ issuer, header, payload }: ProviderTokens, changes: object = {}, sign = signature): string =>
    jws(header, { iss: issuer, exp: now() + 3600, ...payload, ...changes }, sign);

  const EVERY = Object.entries(PROVIDERS);

  it.each(EVERY)('%s: its access token is accepted, and is 403 without scopes', async (_name, provider) => {
    expect((await list(service, tokenOf(provider))).status).toBe(200);
    const custom = { 'https://cookies.example.com/roles': [] };
    const without = { scope: 'openid', scp: undefined, roles: undefined, resource_access: {}, ...custom };
    expectError(await list(service, tokenOf(provider, without)), 403, 'INSUFFICIENT_SCOPE');
  });

  it.each(EVERY)('%s: its token for another purpose is 401', async (_name, provider) => {
    expectInvalidToken(await list(service, tokenOf(provider, provider.other)));
  });

  it.each(EVERY)('%s: a token with its iss and JWT_SECRET is 401', async (_name, provider) => {
    const forged = tokenOf({ ...provider, header: { ...provider.header, alg: 'HS256' } }, {}, hmac('sha256', SECRET));
    expectInvalidToken(await list(service, forged));
  });

  it('an issuer cannot make tokens of another issuer, of another audience, or of JWT_SECRET', async () => {
    const [first, second] = Object.values(PROVIDERS) as [ProviderTokens, ProviderTokens];
    expectInvalidToken(await list(service, tokenOf(first, { iss: 'https://evil.example.com/' })));
    expectInvalidToken(await list(service, tokenOf(first, { aud: 'account' })));
    expectInvalidToken(await list(service, tokenOf(first, { aud: second.audience })));
    expect((await list(service, jws(HS256, claims()))).status).toBe(200);
  });
});
