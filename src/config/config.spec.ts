import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { ConfigError, type Environment, loadConfig } from './config.js';
import { type Variable, variables } from './variables.js';

const pem = (key: { export: (options: { type: 'spki'; format: 'pem' }) => string | Buffer }) =>
  key.export({ type: 'spki', format: 'pem' }).toString();

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const issued = { JWT_ISSUER: 'https://issuer.example', JWT_AUDIENCE: 'cookies' };

function faultsOf(environment: Environment): string[] {
  try {
    loadConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
}

describe('the configuration', () => {
  it('has a default for everything in development', () => {
    expect(loadConfig({})).toMatchObject({
      environment: 'development',
      host: '127.0.0.1',
      port: 3000,
      managementPort: 3001,
      database: { engine: 'sqlite', path: './data/cookies.sqlite', migrateOnStart: true },
      cookiesCapacity: 10_000,
      jwt: { key: { kind: 'development' }, scopeClaim: ['scope'] },
      requireIfMatch: false,
    });
  });

  it('takes an empty variable for an unset one', () => {
    expect(loadConfig({ PORT: '', JWT_SECRET: '', CORS_ORIGINS: '' })).toEqual(loadConfig({}));
  });

  it('reports all faults at once, each with the variable and an example', () => {
    const faults = faultsOf({ PORT: 'http', COOKIES_CAPACITY: '-1', LOG_LEVEL: 'loud', JWT_SECRET: 'short' });
    expect(faults).toHaveLength(4);
    for (const name of ['PORT', 'COOKIES_CAPACITY', 'LOG_LEVEL', 'JWT_SECRET']) {
      expect(faults).toContainEqual(expect.stringMatching(new RegExp(`^${name} .*Example: ${name}=`)));
    }
  });

  it.each<[string, Environment]>([
    ['PORT', { PORT: '65536' }],
    ['PORT', { PORT: '3e3' }],
    ['PORT', { PORT: '3001' }],
    ['HOST', { HOST: 'localhost' }],
    ['NODE_ENV', { NODE_ENV: 'prod' }],
    ['DATABASE_URL', { DATABASE_URL: 'mysql://u:p@localhost/cookies' }],
    ['DATABASE_URL', { DATABASE_URL: 'sqlite:x', DATABASE_URL_FILE: '/nowhere/url' }],
    ['DATABASE_POOL_SIZE', { DATABASE_POOL_SIZE: '0' }],
    ['DATABASE_SSL_CA', { DATABASE_SSL_CA: 'no certificate' }],
    ['DATABASE_URL', { DATABASE_URL: 'sqlite:' }],
    ['DATABASE_URL', { DATABASE_URL: 'sqlite::memory:' }],
    ['DATABASE_URL', { DATABASE_URL: 'sqlite:data/' }],
    ['COOKIES_CAPACITY', { COOKIES_CAPACITY: '9007199254740992' }],
    ['COOKIES_CAPACITY', { COOKIES_CAPACITY: '1.5' }],
    ['CORS_ORIGINS', { CORS_ORIGINS: 'https://a.example/path' }],
    ['CORS_ORIGINS', { CORS_ORIGINS: '*' }],
    ['TRUST_PROXY', { TRUST_PROXY: 'true' }],
    ['REQUIRE_IF_MATCH', { REQUIRE_IF_MATCH: 'yes' }],
    ['JWT_SCOPE_CLAIM', { JWT_SCOPE_CLAIM: 'a..b' }],
    ['JWT_SECRET', { JWT_SECRET: 'é'.repeat(15) }],
    ['JWT_SECRET', { JWT_SECRET_FILE: '/nowhere/secret' }],
    ['JWT_SECRET', { JWT_SECRET: 's'.repeat(32), JWT_SECRET_FILE: '/nowhere/secret' }],
    ['JWT_PUBLIC_KEY', { JWT_PUBLIC_KEY: 'no key', ...issued }],
    ['JWT_ISSUER', { JWT_PUBLIC_KEY: pem(rsa.publicKey), JWT_AUDIENCE: 'cookies' }],
    ['JWT_AUDIENCE', { JWT_PUBLIC_KEY: pem(rsa.publicKey), JWT_ISSUER: 'https://issuer.example' }],
    ['JWT_SECRET and JWT_PUBLIC_KEY', { JWT_SECRET: 's'.repeat(32), JWT_PUBLIC_KEY: pem(rsa.publicKey), ...issued }],
    ['JWT_SECRET or JWT_PUBLIC_KEY', { NODE_ENV: 'production' }],
    ['JWT_SECERT', { JWT_SECERT: 's'.repeat(32) }],
    ['COOKIES_CAPCITY', { COOKIES_CAPCITY: '5' }],
  ])('names %s as the only fault of %j', (name, environment) => {
    expect(faultsOf(environment)).toEqual([expect.stringMatching(new RegExp(`^${name}\\b`))]);
  });

  it('refuses a private key where a public one belongs', () => {
    const key = rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    expect(faultsOf({ JWT_PUBLIC_KEY: key, ...issued })).toEqual([expect.stringContaining('private key')]);
  });

  it.each([
    ['RS256', rsa.publicKey, ['RS256', 'PS256']],
    ['ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey, ['ES256']],
    ['EdDSA', generateKeyPairSync('ed25519').publicKey, ['EdDSA']],
  ])('takes the algorithms from the kind of a key for %s', (_name, key, algorithms) => {
    expect(loadConfig({ JWT_PUBLIC_KEY: pem(key), ...issued }).jwt.key).toMatchObject({ kind: 'public', algorithms });
  });

  it.each([
    ['a short RSA key', generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey, '1024'],
    ['another curve', generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey, 'secp384r1'],
    ['another kind of key', generateKeyPairSync('x25519').publicKey, 'x25519'],
  ])('refuses %s', (_name, key, reason) => {
    expect(faultsOf({ JWT_PUBLIC_KEY: pem(key), ...issued })).toEqual([expect.stringContaining(reason)]);
  });

  it('reads secrets from files, without the line end', () => {
    const folder = mkdtempSync(join(tmpdir(), 'cookies-'));
    const file = join(folder, 'secret');
    writeFileSync(file, `${'s'.repeat(32)}\n`);
    expect(loadConfig({ JWT_SECRET_FILE: file }).jwt.key).toEqual({ kind: 'secret', secret: 's'.repeat(32) });
    rmSync(folder, { recursive: true });
  });

  it('never repeats a secret in a fault', () => {
    expect(faultsOf({ JWT_SECRET: 'hunter2' }).join()).not.toContain('hunter2');
  });

  it('has every variable with its default in .env.example', () => {
    const example = parseEnv(readFileSync(new URL('../../.env.example', import.meta.url), 'utf8'));
    const known = Object.entries<Variable<unknown>>(variables).flatMap(([name, { default: value = '', file }]) => [
      [name, value],
      ...(file ? [[`${name}_FILE`, '']] : []),
    ]);
    expect(example).toEqual(Object.fromEntries(known));
    expect(loadConfig(example)).toEqual(loadConfig({}));
  });
});
