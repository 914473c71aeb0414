import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { JwtService } from '@nestjs/jwt';
import { SECRET, sharedService, startService, temporaryFolder } from '../support/service.js';
import {
  BOTH,
  claims,
  ecdsa,
  eddsa,
  expectInvalidToken,
  HS256,
  hmac,
  jws,
  list,
  pss,
  rsa,
  type Signature,
  unsigned,
} from './jws.js';

const ISSUED = { JWT_ISSUER: 'https://login.example.com/', JWT_AUDIENCE: 'cookies' };
const accepted = (): Record<string, unknown> => claims({ iss: ISSUED.JWT_ISSUER, aud: ISSUED.JWT_AUDIENCE });

const makePairs = () => ({
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ec: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ed25519: generateKeyPairSync('ed25519'),
});
const pairs = makePairs();
const others = makePairs();
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
const [rsaKey, ecKey, edKey] = [pairs.rsa, pairs.ec, pairs.ed25519].map(({ privateKey }) => privateKey) as [
  KeyObject,
  KeyObject,
  KeyObject,
];
const pemOf = (kind: keyof typeof pairs): string =>
  pairs[kind].publicKey.export({ format: 'pem', type: 'spki' }) as string;

/** The accepted and the rejected algorithms and signatures for each kind of key. */
const TOKENS: Record<keyof typeof pairs, { good: [string, Signature][]; bad: [string, Signature, string?][] }> = {
  rsa: {
    good: [
      ['RS256', rsa('sha256', rsaKey)],
      ['PS256', pss('sha256', rsaKey)],
    ],
    bad: [
      ['RS384', rsa('sha384', rsaKey)],
      ['PS512', pss('sha512', rsaKey)],
      ['RS256', pss('sha256', rsaKey), 'signed as PS256'],
      ['RS256', rsa('sha256', others.rsa.privateKey), 'signed with another key'],
      ['ES256', ecdsa('sha256', ecKey)],
    ],
  },
  ec: {
    good: [['ES256', ecdsa('sha256', ecKey)]],
    bad: [
      ['ES256', ecdsa('sha256', others.ec.privateKey), 'signed with another key'],
      ['ES256', ecdsa('sha256', ecKey, 'der'), 'with the signature in DER'],
      ['ES384', ecdsa('sha384', p384)],
      ['ES256', () => Buffer.alloc(64), 'with a signature of zeros (CVE-2022-21449)'],
    ],
  },
  ed25519: {
    good: [['EdDSA', eddsa(edKey)]],
    bad: [
      ['EdDSA', eddsa(others.ed25519.privateKey), 'signed with another key'],
      ['ES256', ecdsa('sha256', ecKey)],
    ],
  },
};

describe.each(['rsa', 'ec', 'ed25519'] as const)('with JWT_PUBLIC_KEY of kind %s', (kind) => {
  const { good, bad } = TOKENS[kind];
  const { service } = sharedService({ ...ISSUED, JWT_PUBLIC_KEY: pemOf(kind) });

  it.each(good)('a token of alg %s is accepted', async (alg, signature) => {
    expect((await list(service, jws({ alg }, accepted(), signature))).status).toBe(200);
  });

  it.each(bad.map(([alg, signature, how = '']) => ({ alg, signature, how })))(
    'a token of alg $alg $how is 401',
    async ({ alg, signature }) => {
      expectInvalidToken(await list(service, jws({ alg }, accepted(), signature)));
    },
  );

  it('HS256 with the public key as the secret is 401 in every encoding of the key', async () => {
    const pem = pemOf(kind);
    const der = pairs[kind].publicKey.export({ format: 'der', type: 'spki' });
    for (const secret of [pem, pem.trimEnd(), pem.replaceAll('\n', '\r\n'), der, der.toString('base64')]) {
      expectInvalidToken(await list(service, jws(HS256, accepted(), hmac('sha256', secret))));
    }
  });

  it('a token without a signature, and one with the secret of another service, is 401', async () => {
    expectInvalidToken(await list(service, jws({ alg: 'none' }, accepted(), unsigned)));
    expectInvalidToken(await list(service, jws(HS256, accepted())));
  });
});

it.each<[variable: string, content: string, token: () => string]>([
  ['JWT_SECRET_FILE', `${SECRET}\n`, () => jws(HS256, accepted())],
  ['JWT_PUBLIC_KEY_FILE', pemOf('rsa'), () => jws({ alg: 'RS256' }, accepted(), rsa('sha256', rsaKey))],
])('%s accepts its own tokens and no others', async (variable, content, token) => {
  const file = join(temporaryFolder(), 'key');
  writeFileSync(file, content);
  await using service = await startService({ ...ISSUED, JWT_SECRET: undefined, [variable]: file });
  expect((await list(service, token())).status).toBe(200);
  expectInvalidToken(await list(service, jws(HS256, accepted(), hmac('sha256', 'x'.repeat(32)))));
});

it.each<[what: string, environment: object, accepted: string[], rejected: string[]]>([
  [
    'JWT_SECRET and JWT_SECRET_PREVIOUS',
    { JWT_SECRET: `${SECRET} new`, JWT_SECRET_PREVIOUS: SECRET },
    [jws(HS256, accepted(), hmac('sha256', `${SECRET} new`)), jws(HS256, accepted())],
    [jws(HS256, accepted(), hmac('sha256', `${SECRET} other`))],
  ],
  [
    'two PEM blocks in JWT_PUBLIC_KEY',
    { JWT_PUBLIC_KEY: `${pemOf('rsa')}\n${pemOf('ec')}` },
    [
      jws({ alg: 'PS256' }, accepted(), pss('sha256', rsaKey)),
      jws({ alg: 'ES256' }, accepted(), ecdsa('sha256', ecKey)),
    ],
    [
      jws({ alg: 'RS256' }, accepted(), rsa('sha256', others.rsa.privateKey)),
      jws({ alg: 'EdDSA' }, accepted(), eddsa(edKey)),
    ],
  ],
])('%s accept the tokens of both keys', async (_what, environment, good, bad) => {
  await using service = await startService({ ...ISSUED, ...environment });
  for (const token of good) expect((await list(service, token)).status).toBe(200);
  for (const token of bad) expectInvalidToken(await list(service, token));
  if ('JWT_SECRET' in environment) {
    const options = { subject: 'alice', expiresIn: 60 };
    const signed = await service.app.get(JwtService, { strict: false }).signAsync({ scope: BOTH }, options);
    const [header, payload, signature] = signed.split('.') as [string, string, string];
    const expected = hmac('sha256', environment.JWT_SECRET as string)(`${header}.${payload}`);
    expect(expected.toString('base64url')).toBe(signature);
  }
});
