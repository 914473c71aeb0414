import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { startServer } from '../support/local-server.js';
import { shared } from '../support/shared.js';
import { sharedService } from '../support/service.js';
import { claims, ecdsa, expectInvalidToken, hmac, jws, list, rsa, type Signature } from './jws.js';

const makeRsa = (modulusLength: number) => generateKeyPairSync('rsa', { modulusLength });
const [short, good, forEncryption] = [1024, 2048, 2048].map(makeRsa);
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const attacker = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const SECRET = 'a secret of 32 bytes in a key set';

const published = (key: KeyObject, kid: string, more: object = {}) => ({
  ...key.export({ format: 'jwk' }),
  kid,
  ...more,
});
/** The short key comes first, so that it is tried before the good key if the token has no key id. */
const KEYS = [
  published(short!.publicKey, 'short'),
  published(good!.publicKey, 'good', { alg: 'RS256' }),
  published(ec.publicKey, 'ec'),
  published(forEncryption!.publicKey, 'encryption', { use: 'enc' }),
  { ...published(ec.publicKey, 'malformed'), y: 'AAAA' },
  { kty: 'oct', k: Buffer.from(SECRET).toString('base64url'), kid: 'secret' },
];
const pemOf = ({ publicKey }: { publicKey: KeyObject }) => publicKey.export({ format: 'pem', type: 'spki' });
const signed = ({ privateKey }: { privateKey: KeyObject } = good!): Signature => rsa('sha256', privateKey);

describe('a key set with good and bad keys', () => {
  let loads = 0;
  const provider = shared(() =>
    startServer((_request, response) => {
      loads++;
      response.end(JSON.stringify({ keys: KEYS }));
    }),
  );

  const { service } = sharedService(() => ({
    ...{ JWT_ISSUER: provider.url, JWT_JWKS_URI: `${provider.url}/keys`, JWT_AUDIENCE: 'cookies' },
    JWT_SECRET: undefined,
  }));

  const send = (header: object, signature: Signature, changes: object = {}) =>
    list(service, jws(header, claims({ iss: provider.url, aud: 'cookies', ...changes }), signature));

  it.each<[what: string, header: object, signature: Signature]>([
    ['RS256 and a key id', { alg: 'RS256', kid: 'good' }, signed()],
    ['RS256 and no key id, beside a short key', { alg: 'RS256' }, signed()],
    ['ES256 and a key id', { alg: 'ES256', kid: 'ec' }, ecdsa('sha256', ec.privateKey)],
  ])('accepts a token with %s', async (_what, header, signature) => {
    expect((await send(header, signature)).status).toBe(200);
  });

  it.each<[what: string, header: object, signature: Signature, changes: object]>([
    ['an RSA key of 1024 bits', { alg: 'RS256', kid: 'short' }, signed(short), {}],
    ['the key of an attacker and no key id', { alg: 'ES256' }, ecdsa('sha256', attacker.privateKey), {}],
    ['HS256 and a secret of the set', { alg: 'HS256', kid: 'secret' }, hmac('sha256', SECRET), {}],
    ['HS256 and a public key as its secret', { alg: 'HS256', kid: 'good' }, hmac('sha256', pemOf(good!)), {}],
    ['the audience in an array of an array', { alg: 'RS256', kid: 'good' }, signed(), { aud: [['cookies']] }],
    ['the audience in an object', { alg: 'RS256', kid: 'good' }, signed(), { aud: { 0: 'cookies' } }],
  ])('rejects a token with %s with 401', async (_what, header, signature, changes) => {
    expectInvalidToken(await send(header, signature, changes));
  });

  it('rejects tokens whose key or key id does not fit with 401, and loads the set at most twice for them', async () => {
    const before = loads;
    const answers = await Promise.all([
      send({ alg: 'RS256', kid: 'encryption' }, signed(forEncryption)),
      send({ alg: 'ES256', kid: 'malformed' }, ecdsa('sha256', ec.privateKey)),
      send({ alg: 'PS256', kid: 'good' }, signed()),
      send({ alg: 'ES256', kid: 'good' }, signed()),
      ...['../../keys', "' OR 1=1 --", '__proto__', 7, null, { $ne: 1 }].map((kid) =>
        send({ alg: 'RS256', kid }, signed()),
      ),
    ]);
    answers.forEach(expectInvalidToken);
    expect(loads - before).toBeLessThanOrEqual(2);
  });
});
