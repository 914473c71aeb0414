import * as parse from './parse.js';
import { SERVICE_NAME } from './service-name.js';
import { setting } from './setting.js';
import { certificateFile, privateKeyFile } from './tls-files.js';
import { hmacSecret } from './hmac-secret.js';
import { providerUrl, publicKeys, tokenIssuers } from './token-issuer.js';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

const limit = (name: string, requests: string) =>
  setting(name, parse.integer(1, 1_000_000_000), {
    about: `maximum number of ${requests} in the window; above it 429; unset: no limit`,
    example: '600',
    live: true,
  });

/**
 * The settings of the platform, in the shape of `Config`, each declared only here. After a change run
 * `npm run settings`, which writes `.env.example` and the README's table. Times are in milliseconds unless `about` says
 * otherwise.
 */
export const PLATFORM_SETTINGS = {
  environment: setting('NODE_ENV', parse.oneOf(['development', 'production', 'test']), {
    about: '`production`: JSON logs, no `.env` file, a token key is required',
    default: 'development',
    example: 'production',
  }),
  host: setting('HOST', parse.address, {
    about: 'address that both ports listen on; `0.0.0.0` for all of IPv4, `::` for all',
    default: '127.0.0.1',
  }),
  port: setting('PORT', parse.integer(0, 65535), { about: 'port of the API; 0 takes a free one', default: '3000' }),
  tls: {
    certFile: setting('TLS_CERT_FILE', certificateFile, {
      about: 'file of the PEM certificate of the API port and those of its authorities; unset: HTTP without TLS',
      example: '/run/secrets/tls.crt',
    }),
    keyFile: setting('TLS_KEY_FILE', privateKeyFile, {
      about: 'file of the PEM private key of `TLS_CERT_FILE`; both are read again when they change',
      example: '/run/secrets/tls.key',
    }),
  },
  managementHost: setting('MANAGEMENT_HOST', parse.address, {
    about: 'address that the management port listens on; unset: that of `HOST`',
    example: '10.0.0.5',
  }),
  managementPort: setting('MANAGEMENT_PORT', parse.integer(0, 65535), {
    about: 'port of health and metrics; 0 takes a free one',
    default: '3001',
  }),
  metricsToken: setting('METRICS_TOKEN', parse.bearerToken, {
    about: 'token that a scraper of `/metrics` must send: `Authorization: Bearer <token>`; unset: none',
    example: '$(openssl rand -base64 32)',
    file: true,
  }),
  workers: setting('WORKERS', parse.workers, {
    about: 'processes that serve the API, behind one port; `auto` for one per core',
    default: '1',
    example: 'auto',
  }),
  database: {
    url: setting('DATABASE_URL', parse.databaseUrl, {
      about: 'the database: `sqlite:<file>` or `postgres://user:password@host:5432/database?sslmode=verify-full`',
      default: `sqlite:./data/${SERVICE_NAME}.sqlite`,
      example: `postgres://${SERVICE_NAME}:secret@localhost:5432/${SERVICE_NAME}`,
      file: true,
    }),
    poolSize: setting('DATABASE_POOL_SIZE', parse.integer(1, 1000), {
      about: 'PostgreSQL: maximum number of connections of one process, besides those for lists and one for readiness',
      default: '10',
    }),
    listPoolSize: setting('DATABASE_LIST_POOL_SIZE', parse.integer(2, 1000), {
      about: 'PostgreSQL: maximum number of connections for lists; a client that reads a long list slowly keeps one',
      default: '8',
    }),
    sslCa: setting('DATABASE_SSL_CA', parse.certificates, {
      about:
        'PostgreSQL: PEM certificate of the authority of the server; unset: those of Node and `NODE_EXTRA_CA_CERTS`',
      example: '-----BEGIN CERTIFICATE-----...',
      file: true,
    }),
    statementTimeout: setting('DATABASE_STATEMENT_TIMEOUT', parse.integer(1, 600_000), {
      about: 'PostgreSQL: milliseconds one statement may take before 503',
      default: '5000',
    }),
    busyTimeout: setting('DATABASE_BUSY_TIMEOUT', parse.integer(1, 600_000), {
      about: 'milliseconds a request or command waits for a lock, or for a free connection, before 503',
      default: '5000',
    }),
    transactionTimeout: setting('DATABASE_TRANSACTION_TIMEOUT', parse.integer(1, 3_600_000), {
      about: 'milliseconds a transaction, or on PostgreSQL a pause between its statements, may take before a rollback',
      default: '10000',
    }),
    migrateOnStart: setting('MIGRATE_ON_START', parse.boolean, {
      about: 'run pending migrations at start; `false` leaves them to `npm run migration:run`',
      default: 'true',
    }),
    backupFolder: setting('BACKUP_DIR', parse.text, {
      about: 'SQLite: folder of the backups that `cli backup --to` makes, for metrics and `cli doctor`; unset: neither',
      example: '/backups',
    }),
  },
  http: {
    connections: setting('MAX_CONNECTIONS', parse.integer(1, 1_000_000), {
      about: 'maximum number of open connections to the API; above it the most expendable closes (`docs/security.md`)',
      default: '4000',
    }),
    connectionsPerAddress: setting('MAX_CONNECTIONS_PER_ADDRESS', parse.integer(1, 1_000_000), {
      about: 'maximum number of connections of one address or IPv6 /64 network; unlimited for proxies in `TRUST_PROXY`',
      default: '1000',
    }),
    requestTimeout: setting('REQUEST_TIMEOUT', parse.integer(100, 600_000), {
      about: 'milliseconds in which a whole request must arrive before 408',
      default: '30000',
    }),
    keepAliveTimeout: setting('KEEP_ALIVE_TIMEOUT', parse.integer(1000, 86_400_000), {
      about:
        'milliseconds an idle connection stays open; more than the idle time-out of a proxy, which must close first',
      default: '75000',
    }),
    stallTimeout: setting('RESPONSE_STALL_TIMEOUT', parse.integer(100, 600_000), {
      about: 'milliseconds in which a client must read some of a response before it is disconnected',
      default: '30000',
    }),
    bufferedBytes: setting('RESPONSE_BUFFER_BYTES', parse.integer(65_536, 2 ** 40), {
      about: 'bytes of memory for unread responses; above it slow readers are cut off, then large responses are 503',
      default: '67108864',
    }),
  },
  listCacheBytes: setting('LIST_CACHE_BYTES', parse.integer(0, 2 ** 40), {
    about: 'bytes of memory for cached lists; 0 turns the cache off',
    default: '33554432',
  }),
  listTimeout: setting('LIST_TIMEOUT', parse.integer(1000, 86_400_000), {
    about: 'milliseconds a client may take to read a list; meanwhile the database keeps its old state',
    default: '300000',
  }),
  jwt: {
    secret: setting('JWT_SECRET', hmacSecret, {
      about: 'HS256 key of the tokens: at least 32 random bytes',
      example: '$(openssl rand -base64 32)',
      file: true,
    }),
    previousSecret: setting('JWT_SECRET_PREVIOUS', hmacSecret, {
      about: 'the secret before `JWT_SECRET`, still accepted while a new one is introduced; it signs nothing',
      example: '$(cat secrets/jwt_secret.old)',
      file: true,
    }),
    publicKeys: setting('JWT_PUBLIC_KEY', publicKeys, {
      about: 'PEM public key of the tokens (RS256, PS256, ES256 or EdDSA); several while keys change',
      example: '-----BEGIN PUBLIC KEY-----...',
      file: true,
    }),
    jwksUri: setting('JWT_JWKS_URI', providerUrl, {
      about: 'address of the key set of an identity provider (RFC 7517)',
      example: 'https://login.example.com/.well-known/jwks.json',
    }),
    issuer: setting('JWT_ISSUER', parse.text, {
      about:
        'required `iss` of a token; must be set with a public key or a key set. Without any key it is an identity provider, which names its key set (OpenID Connect Discovery)',
      example: 'https://login.example.com/',
    }),
    audience: setting('JWT_AUDIENCE', parse.text, {
      about: 'required `aud` of a token; must be set with a public key or an identity provider',
      example: SERVICE_NAME,
    }),
    issuers: setting('JWT_ISSUERS', tokenIssuers, {
      about: 'further identity providers: JSON array of `issuer`, `audience` and, if needed, `scopeClaim`, `jwksUri`',
      example: `[{"issuer":"https://login.example.com/","audience":"${SERVICE_NAME}"}]`,
      file: true,
    }),
    scopeClaim: setting('JWT_SCOPE_CLAIM', parse.claimPaths, {
      about: 'claim that holds the scopes; dots reach inside, except in a URL; commas separate several claims',
      default: 'scope',
      example: 'realm_access.roles',
    }),
    maxLifetime: setting('JWT_MAX_LIFETIME', parse.integer(60, 3_155_760_000), {
      about: 'seconds from now at which a token may expire at the latest; one with a later `exp` is 401',
      default: '31622400',
      example: '86400',
    }),
  },
  rateLimit: {
    window: setting('RATE_LIMIT_WINDOW', parse.integer(1, 86_400), {
      about: 'seconds in which the limits below are counted',
      default: '60',
      live: true,
    }),
    subject: {
      read: limit('RATE_LIMIT_SUBJECT_READ', 'reads of single records by one subject'),
      write: limit('RATE_LIMIT_SUBJECT_WRITE', 'writes by one subject'),
      list: limit('RATE_LIMIT_SUBJECT_LIST', 'lists read by one subject'),
    },
    address: {
      read: limit('RATE_LIMIT_ADDRESS_READ', 'reads of single records from one address or one IPv6 /64 network'),
      write: limit('RATE_LIMIT_ADDRESS_WRITE', 'writes from one address or one IPv6 /64 network'),
      list: limit('RATE_LIMIT_ADDRESS_LIST', 'lists read from one address or one IPv6 /64 network'),
    },
    inProgress: setting('RATE_LIMIT_IN_PROGRESS', parse.integer(1, 1_000_000), {
      about: 'maximum number of unfinished requests of one subject in one process; above it 429; unset: no limit',
      example: '20',
      live: true,
    }),
    store: setting('RATE_LIMIT_STORE', parse.oneOf(['local', 'database']), {
      about: '`local`: each process counts for itself; `database`: all processes and replicas count together',
      default: 'local',
      example: 'database',
    }),
  },
  auditRetention: setting('AUDIT_RETENTION_DAYS', parse.integer(1, 36_500), {
    about: 'days for which lines of the audit trail are kept, where a resource is audited',
    default: '365',
  }),
  requireIfMatch: setting('REQUIRE_IF_MATCH', parse.boolean, {
    about: '`true`: PUT, PATCH and DELETE without `If-Match` are 428',
    default: 'false',
    example: 'true',
  }),
  corsOrigins: setting('CORS_ORIGINS', parse.origins, {
    about: 'origins whose pages may call the API, comma-separated',
    example: 'https://app.example.com',
  }),
  trustProxy: setting('TRUST_PROXY', parse.trustedProxies, {
    about: 'proxies whose `X-Forwarded-*` is believed, comma-separated, or `false`',
    default: 'false',
    example: '10.0.0.0/8',
  }),
  docs: setting('DOCS', parse.boolean, {
    about: '`true`: serve `/openapi.json` and `/docs`; unset, they are served unless `NODE_ENV` is `production`',
    example: 'true',
  }),
  adminPage: setting('ADMIN_PAGE', parse.boolean, {
    about: '`true`: serve `/admin`, the page of resources, records, health and backups for tokens with `admin:read`',
    default: 'false',
    example: 'true',
  }),
  logLevel: setting('LOG_LEVEL', parse.oneOf(LOG_LEVELS), {
    about: `least severe level that is logged: ${LOG_LEVELS.join(', ')}`,
    default: 'info',
    live: true,
  }),
  maintenance: setting('MAINTENANCE', parse.boolean, {
    about: '`true`: POST, PUT, PATCH and DELETE are 503, and reads go on; preferably set by `cli set MAINTENANCE=true`',
    default: 'false',
    example: 'true',
    live: true,
  }),
  tracesEndpoint: setting('OTEL_EXPORTER_OTLP_ENDPOINT', parse.collectorUrl, {
    about: 'address of the OpenTelemetry collector that takes traces (OTLP over HTTP, JSON); unset: no traces',
    example: 'http://localhost:4318',
  }),
  shutdownDelay: setting('SHUTDOWN_DELAY', parse.integer(0, 600_000), {
    about: 'milliseconds after SIGTERM in which a replica serves but is not ready: load balancers turn to others',
    default: '0',
    example: '3000',
  }),
  shutdownTimeout: setting('SHUTDOWN_TIMEOUT', parse.integer(0, 600_000), {
    about: 'milliseconds in which running requests may finish after SIGTERM and SHUTDOWN_DELAY',
    default: '10000',
  }),
};
