import { createPublicKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { familyOf, isServiceLink, nearMisses } from './near-misses.js';
import type { PostgresUrl } from './postgres-url.js';
import type { SqliteUrl } from './parse.js';
import type { Environment, Setting, Variable } from './setting.js';
import { type LogLevel, type VariableName, variables } from './variables.js';

export type { Environment };

/** The key that tokens are verified with; its kind fixes the algorithms (RFC 8725 section 3.1). */
export type TokenKey =
  | { readonly kind: 'secret'; readonly secret: string }
  | { readonly kind: 'public'; readonly key: KeyObject; readonly algorithms: string[] }
  /** None is configured: a development start makes a secret and keeps it beside the database. */
  | { readonly kind: 'development' };

export interface DatabaseSettings {
  readonly busyTimeout: number;
  readonly transactionTimeout: number;
  readonly migrateOnStart: boolean;
  /** What only PostgreSQL needs. */
  readonly poolSize: number;
  readonly listPoolSize: number;
  readonly statementTimeout: number;
  /** PEM; `undefined` for the authorities that Node knows. */
  readonly sslCa?: string;
}

/** Every setting of the service, validated. Times are in milliseconds. */
export class Config {
  readonly environment!: 'development' | 'production' | 'test';
  readonly host!: string;
  readonly port!: number;
  readonly managementPort!: number;
  /** Processes that serve the API. */
  readonly workers!: number;
  /** What this process is among several; absent where it is the only one, and serves the management port itself. */
  readonly worker?: {
    /** For the log, such as `Worker 2`. */
    readonly name: string;
    /** Whether it is the one that does what is done once after a start. */
    readonly isFirst: boolean;
  };
  readonly database!: (SqliteUrl | PostgresUrl) & DatabaseSettings;
  /** Limits of the connections to the API. */
  readonly http!: {
    readonly connections: number;
    readonly connectionsPerAddress: number;
    readonly requestTimeout: number;
    readonly stallTimeout: number;
    readonly bufferedBytes: number;
  };
  readonly listCacheBytes!: number;
  readonly listTimeout!: number;
  /** Lists that may be made at the same time: pages, and the beginnings of long lists. */
  readonly listsInProgress!: number;
  /** Long lists that may be read at the same time. */
  readonly listStreams!: number;
  readonly jwt!: {
    readonly key: TokenKey;
    readonly issuer?: string;
    readonly audience?: string;
    readonly scopeClaim: string[];
    /** Seconds from now. */
    readonly maxLifetime: number;
  };
  readonly requireIfMatch!: boolean;
  readonly corsOrigins?: string[];
  readonly trustProxy!: false | string[];
  readonly docs!: boolean;
  readonly logLevel!: LogLevel;
  readonly shutdownDelay!: number;
  readonly shutdownTimeout!: number;
  /** The values of what features declare, by name; see `get`. */
  readonly settings!: ReadonlyMap<string, unknown>;

  constructor(values: Omit<Config, 'get'>) {
    Object.assign(this, values);
    Object.freeze(this);
  }

  /**
   * The value of what a feature declares; without a default, it may be `undefined`.
   * @throws {Error} for a setting that is not listed in `src/features.ts`, and so was not read
   */
  get<T>(setting: Setting<T> & { readonly default: string }): T;
  get<T>(setting: Setting<T>): T | undefined;
  get(setting: Setting): unknown {
    if (!this.settings.has(setting.name)) {
      throw new Error(
        `List ${setting.name} in src/features.ts: it was not read; a test that calls loadConfig gives it SETTINGS from there`,
      );
    }
    return this.settings.get(setting.name);
  }
}

/** The environment does not make a `Config`; `errors` has one line for every variable that is wrong. */
export class ConfigError extends Error {
  constructor(readonly errors: string[]) {
    super(`The configuration is wrong:\n${errors.map((line) => `  - ${line}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

type Parsed = { [N in VariableName]: ReturnType<(typeof variables)[N]['parse']> | undefined };

/**
 * Reads and validates the whole configuration.
 * @param settings what features declare
 * @throws {ConfigError} naming every wrong variable
 * @throws {Error} for a setting whose name another one has
 */
export function loadConfig(environment: Environment, settings: readonly Setting[] = []): Config {
  const errors: string[] = [];
  const values: Record<string, unknown> = {};
  const declared = declaredVariables(settings);
  for (const [name, variable] of declared) {
    try {
      const text = readText(name, variable, environment);
      values[name] = text === undefined ? undefined : variable.parse(text);
    } catch (error) {
      errors.push(`${name} ${(error as Error).message}. Example: ${name}=${variable.example}`);
    }
  }
  errors.push(...misspeltNames(environment, declared, settings));
  const parsed = values as Parsed;
  if (parsed.PORT && parsed.PORT === parsed.MANAGEMENT_PORT) {
    errors.push(`PORT and MANAGEMENT_PORT are both ${parsed.PORT}; they must differ. Example: MANAGEMENT_PORT=3001`);
  }
  const key = tokenKey(parsed, errors);
  if (errors.length > 0) throw new ConfigError(errors);
  return toConfig(parsed, key, new Map(settings.map(({ name }) => [name, values[name]])));
}

/** The platform's own variables, then those of features. */
export function declaredVariables(settings: readonly Setting[]): ReadonlyMap<string, Variable<unknown>> {
  const declared = new Map(Object.entries<Variable<unknown>>(variables));
  for (const setting of settings) {
    if (declared.has(setting.name)) throw new Error(`${setting.name} is declared twice`);
    declared.set(setting.name, setting);
  }
  return declared;
}

/**
 * Reads `.env` in development, where the process's own environment wins; `NODE_ENV=production` ignores the file.
 * @param settings what features declare: `SETTINGS` of `src/features.ts`
 */
export function loadConfigFromProcess(settings: readonly Setting[]): Config {
  if (process.env['NODE_ENV'] === 'production') return loadConfig(process.env, settings);
  let file: Environment = {};
  try {
    file = parseEnv(readFileSync('.env', 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      throw new ConfigError([`.env cannot be read: ${(error as Error).message}`]);
    }
  }
  return loadConfig({ ...file, ...process.env }, settings);
}

function readText(name: string, variable: Variable<unknown>, environment: Environment): string | undefined {
  // Compose and shells pass an unset variable on as an empty one.
  const text = isServiceLink(name, environment) ? undefined : environment[name] || undefined;
  const path = variable.file ? environment[`${name}_FILE`] || undefined : undefined;
  if (path === undefined) return text ?? variable.default;
  if (text !== undefined) throw new Error(`and ${name}_FILE are both set; set one of them`);
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    throw new Error(`cannot be read from the file that ${name}_FILE names: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function misspeltNames(
  environment: Environment,
  declared: ReadonlyMap<string, Variable<unknown>>,
  settings: readonly Setting[],
): string[] {
  const known = new Set([...declared].flatMap(([name, { file }]) => (file ? [name, `${name}_FILE`] : [name])));
  // No other program has variables of these families.
  const families = new Set(['JWT', ...settings.map(({ name }) => familyOf(name))]);
  return nearMisses(environment, known, families).map(
    ([name, meant]) => `${name} is not a setting of this service; did you mean ${meant}?`,
  );
}

function tokenKey(values: Parsed, errors: string[]): TokenKey {
  const { JWT_SECRET: secret, JWT_PUBLIC_KEY: pem } = values;
  if (secret !== undefined && pem !== undefined) {
    errors.push('JWT_SECRET and JWT_PUBLIC_KEY are both set; set the one that your tokens are signed for');
  }
  if (pem !== undefined) {
    for (const name of ['JWT_ISSUER', 'JWT_AUDIENCE'] as const) {
      if (values[name] === undefined) {
        errors.push(`${name} must be set with JWT_PUBLIC_KEY. Example: ${name}=${variables[name].example}`);
      }
    }
    try {
      return publicKey(pem);
    } catch (error) {
      errors.push(
        `JWT_PUBLIC_KEY ${(error as Error).message}. Example: JWT_PUBLIC_KEY=${variables.JWT_PUBLIC_KEY.example}`,
      );
    }
  }
  if (secret !== undefined) return { kind: 'secret', secret };
  const isKeyWrong = errors.some((line) => /^JWT_(SECRET|PUBLIC_KEY)/.test(line));
  if (values.NODE_ENV === 'production' && pem === undefined && !isKeyWrong) {
    errors.push(
      'JWT_SECRET or JWT_PUBLIC_KEY must be set in production (or JWT_SECRET_FILE, JWT_PUBLIC_KEY_FILE). ' +
        'Example: JWT_SECRET_FILE=/run/secrets/jwt_secret',
    );
  }
  return { kind: 'development' };
}

function publicKey(pem: string): TokenKey {
  if (pem.includes('PRIVATE KEY')) throw new Error('holds a private key; give the service the public one only');
  let key: KeyObject;
  try {
    // A PEM given through an environment file often has its line ends written as \n.
    key = createPublicKey(pem.replaceAll('\\n', '\n'));
  } catch {
    throw new Error('is not a PEM public key');
  }
  return { kind: 'public', key, algorithms: algorithmsOf(key) };
}

function algorithmsOf(key: KeyObject): string[] {
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case 'rsa':
      if (modulusLength < 2048) {
        throw new Error(`must be an RSA key of at least 2048 bits (RFC 7518 section 3.3); it has ${modulusLength}`);
      }
      return ['RS256', 'PS256'];
    case 'ec':
      if (namedCurve !== 'prime256v1') throw new Error(`must be on the curve P-256 for ES256; it is on ${namedCurve}`);
      return ['ES256'];
    case 'ed25519':
      return ['EdDSA'];
    default:
      throw new Error(`must be an RSA, P-256 or Ed25519 key; it is ${key.asymmetricKeyType}`);
  }
}

function toConfig(values: Parsed, key: TokenKey, settings: ReadonlyMap<string, unknown>): Config {
  return new Config({
    environment: values.NODE_ENV!,
    host: values.HOST!,
    port: values.PORT!,
    managementPort: values.MANAGEMENT_PORT!,
    workers: values.WORKERS!,
    database: {
      ...values.DATABASE_URL!,
      busyTimeout: values.DATABASE_BUSY_TIMEOUT!,
      transactionTimeout: values.DATABASE_TRANSACTION_TIMEOUT!,
      migrateOnStart: values.MIGRATE_ON_START!,
      poolSize: values.DATABASE_POOL_SIZE!,
      listPoolSize: values.DATABASE_LIST_POOL_SIZE!,
      statementTimeout: values.DATABASE_STATEMENT_TIMEOUT!,
      sslCa: values.DATABASE_SSL_CA,
    },
    http: {
      connections: values.MAX_CONNECTIONS!,
      connectionsPerAddress: values.MAX_CONNECTIONS_PER_ADDRESS!,
      requestTimeout: values.REQUEST_TIMEOUT!,
      stallTimeout: values.RESPONSE_STALL_TIMEOUT!,
      bufferedBytes: values.RESPONSE_BUFFER_BYTES!,
    },
    listCacheBytes: values.LIST_CACHE_BYTES!,
    listTimeout: values.LIST_TIMEOUT!,
    listsInProgress: values.DATABASE_URL!.engine === 'sqlite' ? 16 : values.DATABASE_LIST_POOL_SIZE!,
    listStreams: values.DATABASE_URL!.engine === 'sqlite' ? 48 : Math.floor((values.DATABASE_LIST_POOL_SIZE! * 3) / 4),
    jwt: {
      key,
      issuer: values.JWT_ISSUER,
      audience: values.JWT_AUDIENCE,
      scopeClaim: values.JWT_SCOPE_CLAIM!,
      maxLifetime: values.JWT_MAX_LIFETIME!,
    },
    requireIfMatch: values.REQUIRE_IF_MATCH!,
    corsOrigins: values.CORS_ORIGINS,
    trustProxy: values.TRUST_PROXY!,
    docs: values.DOCS ?? values.NODE_ENV !== 'production',
    logLevel: values.LOG_LEVEL!,
    shutdownDelay: values.SHUTDOWN_DELAY!,
    shutdownTimeout: values.SHUTDOWN_TIMEOUT!,
    settings,
  });
}
