import { hmacSecret } from './hmac-secret.js';
import {
  address,
  boolean,
  certificates,
  claimPath,
  databaseUrl,
  integer,
  oneOf,
  origins,
  string,
  trustedProxies,
  workers,
} from './parse.js';
import { SERVICE_NAME } from './service-name.js';
import type { Variable } from './setting.js';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const define = <T>(variable: Variable<T>): Variable<T> => variable;

/**
 * The platform's own variables; features declare theirs in their folders. `.env.example` and the README's table follow from both:
 * `npm run settings` writes them, and a test compares them.
 */
export const variables = {
  NODE_ENV: define({
    about: '`production`: JSON logs, no `.env` file, a token key is required',
    example: 'production',
    default: 'development',
    parse: oneOf(['development', 'production', 'test']),
  }),
  HOST: define({
    about: 'address that both ports listen on; `0.0.0.0` for all of them',
    example: '127.0.0.1',
    default: '127.0.0.1',
    parse: address,
  }),
  PORT: define({
    about: 'port of the API; 0 takes a free one',
    example: '3000',
    default: '3000',
    parse: integer(0, 65535),
  }),
  MANAGEMENT_PORT: define({
    about: 'port of health and metrics; 0 takes a free one',
    example: '3001',
    default: '3001',
    parse: integer(0, 65535),
  }),
  WORKERS: define({
    about: 'processes that serve the API, behind one port; `auto` for as many as there are cores',
    example: 'auto',
    default: '1',
    parse: workers,
  }),
  DATABASE_URL: define({
    about:
      'where the records are kept: `sqlite:<file>` or `postgres://user:password@host:5432/database?sslmode=verify-full`',
    example: `postgres://${SERVICE_NAME}:secret@localhost:5432/${SERVICE_NAME}`,
    default: `sqlite:./data/${SERVICE_NAME}.sqlite`,
    file: true,
    parse: databaseUrl,
  }),
  DATABASE_POOL_SIZE: define({
    about: 'PostgreSQL: connections of one process at most, besides those for lists and one for readiness',
    example: '10',
    default: '10',
    parse: integer(1, 1000),
  }),
  DATABASE_LIST_POOL_SIZE: define({
    about: 'PostgreSQL: connections for lists at most; a client that reads a long list slowly keeps one',
    example: '8',
    default: '8',
    parse: integer(2, 1000),
  }),
  DATABASE_SSL_CA: define({
    about: "PostgreSQL: PEM certificate of the authority that signed the server's; without it the system's authorities",
    example: '-----BEGIN CERTIFICATE-----...',
    file: true,
    parse: certificates,
  }),
  DATABASE_STATEMENT_TIMEOUT: define({
    about: 'PostgreSQL: milliseconds one statement may take before 503',
    example: '5000',
    default: '5000',
    parse: integer(1, 600_000),
  }),
  DATABASE_BUSY_TIMEOUT: define({
    about: 'milliseconds a request waits for a lock, or for a free connection, before 503',
    example: '5000',
    default: '5000',
    parse: integer(1, 600_000),
  }),
  DATABASE_TRANSACTION_TIMEOUT: define({
    about: 'milliseconds one transaction may take before it is rolled back',
    example: '10000',
    default: '10000',
    parse: integer(1, 3_600_000),
  }),
  MIGRATE_ON_START: define({
    about: 'run pending migrations at start; `false` leaves them to `npm run migration:run`',
    example: 'true',
    default: 'true',
    parse: boolean,
  }),
  MAX_CONNECTIONS: define({
    about: 'connections to the API that may be open at the same time; beyond it the one that is idle longest is closed',
    example: '4000',
    default: '4000',
    parse: integer(1, 1_000_000),
  }),
  MAX_CONNECTIONS_PER_ADDRESS: define({
    about: 'the same from one address, or from one IPv6 /64 network; proxies in `TRUST_PROXY` have no such limit',
    example: '1000',
    default: '1000',
    parse: integer(1, 1_000_000),
  }),
  REQUEST_TIMEOUT: define({
    about: 'milliseconds in which a request must arrive whole before 408',
    example: '30000',
    default: '30000',
    parse: integer(100, 600_000),
  }),
  RESPONSE_STALL_TIMEOUT: define({
    about: 'milliseconds in which a client must read something of a response before it is cut off',
    example: '30000',
    default: '30000',
    parse: integer(100, 600_000),
  }),
  RESPONSE_BUFFER_BYTES: define({
    about:
      'bytes of memory for responses that clients have not read yet; beyond it who reads slowest is cut off, then large responses are 503',
    example: '67108864',
    default: '67108864',
    parse: integer(65_536, 2 ** 40),
  }),
  LIST_CACHE_BYTES: define({
    about: 'bytes of memory for lists that are asked for again while nothing has changed; 0 keeps none',
    example: '33554432',
    default: '33554432',
    parse: integer(0, 2 ** 40),
  }),
  LIST_TIMEOUT: define({
    about: 'milliseconds a client may take to read a list; while it reads, old states of the database are kept',
    example: '300000',
    default: '300000',
    parse: integer(1000, 86_400_000),
  }),
  JWT_SECRET: define({
    about: 'HS256 key of the tokens: at least 32 random bytes',
    example: '$(openssl rand -base64 32)',
    file: true,
    parse: hmacSecret,
  }),
  JWT_PUBLIC_KEY: define({
    about: 'PEM public key of the tokens (RS256, PS256, ES256 or EdDSA)',
    example: '-----BEGIN PUBLIC KEY-----...',
    file: true,
    parse: string,
  }),
  JWT_ISSUER: define({
    about: 'required `iss` of a token; must be set with a public key',
    example: 'https://login.example.com/',
    parse: string,
  }),
  JWT_AUDIENCE: define({
    about: 'required `aud` of a token; must be set with a public key',
    example: SERVICE_NAME,
    parse: string,
  }),
  JWT_SCOPE_CLAIM: define({
    about: 'claim that holds the scopes; dots reach inside',
    example: 'realm_access.roles',
    default: 'scope',
    parse: claimPath,
  }),
  JWT_MAX_LIFETIME: define({
    about: 'seconds from now at which a token may expire at the latest; one with a later `exp` is 401',
    example: '86400',
    default: '31622400',
    parse: integer(60, 3_155_760_000),
  }),
  REQUIRE_IF_MATCH: define({
    about: '`true`: PUT, PATCH and DELETE without `If-Match` are 428',
    example: 'true',
    default: 'false',
    parse: boolean,
  }),
  CORS_ORIGINS: define({
    about: 'origins whose pages may call the API, comma-separated',
    example: 'https://app.example.com',
    parse: origins,
  }),
  TRUST_PROXY: define({
    about: 'proxies whose `X-Forwarded-*` is believed, comma-separated, or `false`',
    example: '10.0.0.0/8',
    default: 'false',
    parse: trustedProxies,
  }),
  DOCS: define({
    about: '`true`: serve `/openapi.json` and `/docs`; unset, they are served unless `NODE_ENV` is `production`',
    example: 'true',
    parse: boolean,
  }),
  LOG_LEVEL: define({
    about: `least severe level that is logged: ${LOG_LEVELS.join(', ')}`,
    example: 'info',
    default: 'info',
    parse: oneOf(LOG_LEVELS),
  }),
  SHUTDOWN_DELAY: define({
    about: 'milliseconds a replica serves on after SIGTERM while not ready, for a load balancer to turn to others',
    example: '3000',
    default: '0',
    parse: integer(0, 600_000),
  }),
  SHUTDOWN_TIMEOUT: define({
    about: 'milliseconds running requests may take to finish after SIGTERM and SHUTDOWN_DELAY',
    example: '10000',
    default: '10000',
    parse: integer(0, 600_000),
  }),
};

export type VariableName = keyof typeof variables;
