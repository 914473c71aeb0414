import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { type Config, ConfigError, type Environment, loadConfig as load } from './config.js';
import { COOKIES } from '../cookies/cookie.resource.js';
import { PLATFORM_SETTINGS } from './platform-settings.js';
import { type Parse, setting } from './setting.js';

const pem = (key: KeyObject) =>
  key.export({ type: key.type === 'public' ? 'spki' : 'pkcs8', format: 'pem' }).toString();

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const SECRET = randomBytes(32).toString('base64url');
/** The settings of features; the cookies stand for any feature. */
const SETTINGS = [COOKIES.capacity];

const loadConfig = (environment: Environment): Config => load(environment, SETTINGS);

const issued = { JWT_ISSUER: 'https://issuer.example', JWT_AUDIENCE: 'cookies' };
const ONE_ISSUER = `[{"issuer":"${issued.JWT_ISSUER}","audience":"cookies"}]`;

type Wrong = [variable: string, environment: Environment];

/** Wrong values of variables, separated by blanks. */
const WRONG: Record<string, string> = {
  PORT: '3001',
  WORKERS: 'AUTO',
  HOST: 'localhost',
  NODE_ENV: 'prod',
  DATABASE_URL:
    'sqlite: sqlite::memory: sqlite:a.sqlite\r sqlite:////host/a.sqlite sqlite:/a.sqlite?mode=ro tcp://a:5432',
  CORS_ORIGINS:
    'https://a.example/path https://a.example:443 capacitor://localhost/ a.example:8080 file:// null * https://*.example',
  TRUST_PROXY: 'cafe 10.0.0.0/33 0.0.0.0/0',
  JWT_SCOPE_CLAIM: "'scope' scope,sub",
  OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317 https://user:secret@collector https://collector?key=secret',
  REQUIRE_IF_MATCH: 'yes',
};

function errorsOf(environment: Environment): string[] {
  try {
    loadConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.errors;
    throw error;
  }
}

describe('the configuration', () => {
  it('treats an empty variable as unset', () => {
    expect(loadConfig({ PORT: '', JWT_SECRET: '', CORS_ORIGINS: '' })).toEqual(loadConfig({}));
    expect(loadConfig({ JWT_SECRET: SECRET, JWT_SECRET_FILE: '' }).jwt.secret).toBe(SECRET);
    expect(loadConfig({ JWT_SECRET: `${SECRET}\n` }).jwt.secret).toBe(SECRET);
  });

  it.each<[environment: Environment, values: object]>([
    [{ HOST: '::1' }, { host: '::1' }],
    [{ NODE_ENV: 'production', JWT_ISSUERS: ONE_ISSUER }, { environment: 'production' }],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }, { tracesEndpoint: new URL('http://c:4318') }],
    [{ WORKERS: 'auto' }, { workers: Math.min(availableParallelism(), 64) }],
    [{ DATABASE_URL: 'sqlite:///var/x' }, { database: { url: { engine: 'sqlite', path: '/var/x' } } }],
    [{ DATABASE_URL: 'postgresql://u@h/d' }, { database: { url: { engine: 'postgres', user: 'u' } } }],
    [{ CORS_ORIGINS: 'https://a.example, http://b:8080' }, { corsOrigins: ['https://a.example', 'http://b:8080'] }],
    [{ CORS_ORIGINS: 'capacitor://localhost' }, { corsOrigins: ['capacitor://localhost'] }],
    [
      { TRUST_PROXY: '10.0.0.0/8, fd00::/112,loopback,linklocal, uniquelocal' },
      { trustProxy: ['10.0.0.0/8', 'fd00::/112', 'loopback', 'linklocal', 'uniquelocal'] },
    ],
  ])('reads %j', (environment, values) => {
    expect(loadConfig(environment)).toMatchObject(values);
  });

  it('reports all errors together, each with the variable and an example', () => {
    const errors = errorsOf({ PORT: 'http', COOKIES_CAPACITY: '-1', LOG_LEVEL: 'loud', JWT_SECRET: 'short' });
    expect(errors).toHaveLength(4);
    for (const name of ['PORT', 'COOKIES_CAPACITY', 'LOG_LEVEL', 'JWT_SECRET']) {
      expect(errors).toContainEqual(expect.stringMatching(new RegExp(`^${name} .*Example: ${name}=`)));
    }
  });

  it.each<[name: string, first: number, last: number]>([
    ['PORT', 0, 65_535],
    ['WORKERS', 1, 64],
    ['REQUEST_TIMEOUT', 100, 600_000],
    ['COOKIES_CAPACITY', 0, Number.MAX_SAFE_INTEGER],
  ])('accepts %s from %d to %d, and rejects values outside', (name, first, last) => {
    for (const inside of [first, last]) expect(errorsOf({ [name]: String(inside) })).toEqual([]);
    for (const outside of [first - 1, BigInt(last) + 1n]) {
      expect(errorsOf({ [name]: String(outside) })).toEqual([expect.stringContaining(`from ${first} to ${last}`)]);
    }
  });

  it.each<Wrong>([
    ...Object.entries(WRONG).flatMap(([name, values]) =>
      values.split(' ').map((value): Wrong => [name, { [name]: value }]),
    ),
    ['DATABASE_URL', { DATABASE_URL: 'sqlite:x', DATABASE_URL_FILE: '/nowhere/url' }],
    ['DATABASE_SSL_CA', { DATABASE_SSL_CA: 'no certificate' }],
    ['JWT_ISSUER', { JWT_ISSUER: 'http://issuer.example', JWT_AUDIENCE: 'cookies' }],
    ['JWT_ISSUER', { ...issued, JWT_SECRET: SECRET, JWT_ISSUER: ' ' }],
    ['JWT_AUDIENCE', { ...issued, JWT_AUDIENCE: 'cookies ' }],
    ['JWT_AUDIENCE', { ...issued, JWT_AUDIENCE: '"cookies"' }],
    ['BACKUP_DIR', { JWT_SECRET: SECRET, BACKUP_DIR: ' ' }],
    ['JWT_ISSUERS', { JWT_ISSUERS: ONE_ISSUER.replace('cookies', 'cookies ') }],
    ['JWT_SECRET', { JWT_SECRET_FILE: '/nowhere/secret' }],
    ['JWT_PUBLIC_KEY', { JWT_PUBLIC_KEY: 'no key', ...issued }],
    ['JWT_ISSUER', { JWT_PUBLIC_KEY: pem(rsa.publicKey), JWT_AUDIENCE: 'cookies' }],
    ['JWT_AUDIENCE', { JWT_PUBLIC_KEY: pem(rsa.publicKey), JWT_ISSUER: 'https://issuer.example' }],
    ['JWT_AUDIENCE', { JWT_ISSUER: 'https://issuer.example' }],
    ['JWT_SECRET', { JWT_SECRET_PREVIOUS: SECRET }],
    ['JWT_SECRET and JWT_PUBLIC_KEY', { JWT_SECRET: SECRET, JWT_PUBLIC_KEY: pem(rsa.publicKey), ...issued }],
    ['JWT_SECRET or JWT_PUBLIC_KEY', { NODE_ENV: 'production' }],
  ])('names %s as the only problem of %j', (name, environment) => {
    expect(errorsOf(environment)).toEqual([expect.stringMatching(new RegExp(`^${name}\\b`))]);
  });

  it('rejects the certificate of an authority for PostgreSQL without TLS', () => {
    const environment = { DATABASE_URL: 'postgres://u@h/d', DATABASE_SSL_CA: rootCertificates[0]! };
    expect(errorsOf(environment)).toEqual([expect.stringContaining('DATABASE_SSL_CA has no effect without TLS')]);
    expect(errorsOf({ ...environment, DATABASE_URL: 'postgres://u@h/d?sslmode=verify-ca' })).toEqual([]);
  });

  it.each([
    'LOG_LEVEL="debug"',
    "PORT='3000'",
    'HOST=127.0.0.1 ',
    'WORKERS=2\r',
    'JWT_AUDIENCE="a"',
    'DATABASE_URL=sqlite:a ',
  ])('reports white space or quotes around %j, and does not report them for a value without them', (line) => {
    const [name, value] = line.split('=') as [string, string];
    expect(errorsOf({ JWT_SECRET: SECRET, [name]: value })).toEqual([
      expect.stringMatching(/^(?=.*(white space|quotes))(?!.*around it.*around it).*around it/),
    ]);
    expect(errorsOf({ [name]: '' })).toEqual([]);
    expect(errorsOf({ LOG_LEVEL: 'loud' }).join()).not.toContain('around it');
  });

  it.each([
    ['COOKIE_CAPACITY', 'COOKIES_CAPACITY'],
    ['LOGLEVEL', 'LOG_LEVEL'],
    ['NODE_EMV', 'NODE_ENV'],
    ['JWT_SECRETFILE', 'JWT_SECRET_FILE'],
    ['WORKER', 'WORKERS'],
    ['DATABASE_TRANSCATION_TIMEOUT', 'DATABASE_TRANSACTION_TIMEOUT'],
  ])('rejects %s, and asks whether %s was meant', (name, meant) => {
    const errors = errorsOf({ [name]: '5' });
    expect(errors).toEqual([`${name} is not a setting of this service; did you mean ${meant}?`]);
  });

  it('ignores variables of other programs', () => {
    const others = [
      ...['HOME', 'PATH', 'PORTS', 'npm_config_loglevel', 'PINO_LOG_LEVEL', 'TEST_DATABASE_URL', 'BLOG_LEVELS'],
      ...['MY_JWT_SECRET_KEY', 'NODE_OPTIONS', 'NODE_VERSION', 'JWT_LIBRARY', 'COOKIES_POLICY', 'DOC', 'POST'],
      ...['WORKER_ID', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_SERVICE_NAME'],
      // Kubernetes sets these for a Service "cookies".
      ...['COOKIES_PORT', 'COOKIES_SERVICE_HOST', 'COOKIES_SERVICE_PORT_HTTP', 'COOKIES_PORT_3000_TCP_ADDR'],
    ];
    expect(loadConfig(Object.fromEntries(others.map((name) => [name, '5'])))).toEqual(loadConfig({}));
  });

  it.each([
    ['RS256', rsa.publicKey, ['RS256', 'PS256']],
    ['ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey, ['ES256']],
    ['EdDSA', generateKeyPairSync('ed25519').publicKey, ['EdDSA']],
  ])(
    'derives the algorithms from the kind of a key for %s, also where its line ends are escaped',
    (_name, key, algorithms) => {
      for (const JWT_PUBLIC_KEY of [pem(key), pem(key).replaceAll('\n', '\\n')])
        expect(loadConfig({ JWT_PUBLIC_KEY, ...issued }).jwt.publicKeys).toMatchObject([{ algorithms }]);
    },
  );

  it.each([
    ['a short RSA key', generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey, '1024'],
    ['another curve', generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey, 'secp384r1'],
    ['another kind of key', generateKeyPairSync('x25519').publicKey, 'x25519'],
    ['a private key', rsa.privateKey, 'private key'],
  ])('rejects %s', (_name, key, reason) => {
    expect(errorsOf({ JWT_PUBLIC_KEY: pem(key), ...issued })).toEqual([expect.stringContaining(reason)]);
  });

  it('reads secrets from files in UTF-8, without the line end and a byte-order mark', () => {
    const file = join(temporaryFolder(), 'secret');
    writeFileSync(file, `${SECRET}\n`);
    expect(loadConfig({ JWT_SECRET_FILE: file }).jwt.secret).toBe(SECRET);
    expect(errorsOf({ JWT_SECRET_FILE: file, JWT_SECRET: SECRET })).toEqual([expect.stringContaining('are both set')]);
    writeFileSync(file, `\ufeff${SECRET}\r\n`);
    expect(loadConfig({ JWT_SECRET_FILE: file }).jwt.secret).toBe(SECRET);
    for (const bytes of [Buffer.alloc(40, 0x9f), Buffer.from(SECRET, 'utf16le'), `${SECRET}\0`]) {
      writeFileSync(file, bytes);
      expect(errorsOf({ JWT_SECRET_FILE: file })).toEqual([
        expect.stringContaining('JWT_SECRET_FILE names: it must be in UTF-8'),
      ]);
    }
  });

  it('rejects a file of a setting that has more than 1 MiB, as a device has', () => {
    const file = join(temporaryFolder(), 'long');
    writeFileSync(file, SECRET.padEnd(1024 * 1024 + 1));
    const message = expect.stringContaining(`${file} has more than 1048576 bytes`);
    expect(errorsOf({ JWT_SECRET_FILE: file })).toEqual([message]);
    expect(errorsOf({ TLS_CERT_FILE: file, TLS_KEY_FILE: file })).toEqual([message, message]);
  });

  const der = rsa.publicKey.export({ type: 'spki', format: 'der' });

  it.each<[what: string, secret: string, reason: RegExp]>([
    ['a PEM public key', pem(rsa.publicKey), /JWT_PUBLIC_KEY/],
    ['a PEM public key in base64', Buffer.from(pem(rsa.publicKey)).toString('base64'), /JWT_PUBLIC_KEY/],
    ['a public key in base64 without PEM', der.toString('base64'), /JWT_PUBLIC_KEY/],
    ['one with colons, as openssl prints it', der.toString('hex').replaceAll(/..(?=.)/g, '$&:'), /JWT_PUBLIC_KEY/],
    ['a public key of OpenSSH', `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI ${SECRET}`, /JWT_PUBLIC_KEY/],
    ['a JSON Web Key', JSON.stringify(rsa.publicKey.export({ format: 'jwk' })), /JWT_PUBLIC_KEY/],
    ['too short', 'hunter2', /at least 32 bytes/],
    ['one character', 's'.repeat(64), /repeats its first byte,/],
    ['eight digits repeated in part', '12345678'.repeat(5).slice(0, 35), /repeats its first 8 bytes/],
    ['changeme', 'changeme-changeme2-changeme3-changeme4', /placeholder/],
    ['a text to be replaced', 'REPLACE_ME_before_the_first_start', /placeholder/],
    ['the example of an older version of this service', 'a random text of 32 characters or more', /placeholder/],
    ['the example of this one', PLATFORM_SETTINGS.jwt.secret.example, /32 bytes/],
  ])('rejects a JWT_SECRET that is %s, and names a valid one', (_what, secret, reason) => {
    const errors = errorsOf({ JWT_SECRET: secret });
    expect(errors).toEqual([expect.stringMatching(/^JWT_SECRET .*openssl rand -base64 32.*Example/)]);
    expect(errors[0]).toMatch(reason);
    if (secret !== PLATFORM_SETTINGS.jwt.secret.example) expect(errors[0]).not.toContain(secret);
  });

  it('accepts a random JWT_SECRET in any usual encoding, and a passphrase of words', () => {
    const { parse } = PLATFORM_SETTINGS.jwt.secret;
    for (let time = 0; time < 1000; time++) {
      for (const secret of [
        randomBytes(16).toString('hex'),
        randomBytes(24).toString('base64'),
        randomBytes(64).toString('base64url'),
        // Of all usual forms, decimal digits have the fewest different characters.
        Array.from(randomBytes(40), (byte) => byte % 10).join(''),
      ]) {
        expect(parse(secret)).toBe(secret);
      }
    }
    for (const secret of [`${SECRET}${SECRET}`, 'correct horse battery staple and a cookie']) {
      expect(errorsOf({ JWT_SECRET: secret })).toEqual([]);
    }
  });

  it('measures a JWT_SECRET in bytes: 32 are enough, in however few characters, and 31 are not', () => {
    const emoji = '🍪🧁🍩🍰🎂🥧🍫🍬';
    expect(Buffer.from(emoji)).toHaveLength(32);
    expect(errorsOf({ JWT_SECRET: emoji })).toEqual([]);
    expect(errorsOf({ JWT_SECRET: SECRET.slice(0, 32) })).toEqual([]);
    expect(errorsOf({ JWT_SECRET: SECRET.slice(0, 31) })).toEqual([expect.stringContaining('it has 31')]);
  });

  describe('with settings that features declare', () => {
    const capacity = { ...COOKIES.capacity, name: 'JARS_CAPACITY' };
    const atMost9: Parse<string> = (text) => {
      if (text.length > 9) throw new Error('must have at most 9 characters');
      return text;
    };
    const label = setting('JARS_LABEL', atMost9, { about: 'label of every jar', example: 'top shelf', file: true });
    const declared = [capacity, label];

    it('has their values, and undefined for an unset one without a default', () => {
      const config = load({ JARS_CAPACITY: '7' }, declared);
      expect([config.get(capacity), config.get(label)]).toEqual([7, undefined]);
      expect(load({ JARS_LABEL: 'old' }, declared).get(label)).toBe('old');
    });

    it('reports their errors together with those of the platform', () => {
      const wrong = { PORT: 'http', JARS_CAPACITY: '-1', JARS_LABEL: 'far too long', JARS_LABLE: 'x' };
      expect(() => load(wrong, declared)).toThrow(
        /PORT must be .*JARS_CAPACITY must be a whole number from 0 .*Example: JARS_CAPACITY=10000.*JARS_LABEL must have .*Example: JARS_LABEL=top shelf.*JARS_LABLE is not a setting of this service; did you mean JARS_LABEL\?/s,
      );
    });

    it('throws for a name that is declared twice, and for a setting that was not read', () => {
      expect(() => load({}, [capacity, capacity])).toThrow('JARS_CAPACITY is declared twice');
      expect(() => load({}, [{ ...label, name: 'PORT' }])).toThrow('PORT is declared twice');
      expect(() => load({}).get(capacity)).toThrow('List JARS_CAPACITY in src/features.ts');
    });
  });
});
