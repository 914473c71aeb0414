import { COLLECTOR } from './collector.js';

/**
 * The compared programs. Each reads the environment variables of the service (HOST, PORT, DATABASE_URL, JWT_SECRET,
 * COOKIES_CAPACITY) and ends on SIGTERM.
 */
export const service = {
  name: 'service',
  program: 'dist/src/main.js',
  about: 'this service: `node dist/src/main.js`, its request log into /dev/null',
  readiness: '/health/ready',
};

/** The service with rate limits that no request of the benchmark reaches. */
const limited = (store) => ({
  ...service,
  name: `service, limits ${store}`,
  about: `the service with a limit for the subject and for the address, RATE_LIMIT_STORE=${store}`,
  environment: {
    RATE_LIMIT_STORE: store,
    RATE_LIMIT_SUBJECT_READ: '1000000000',
    RATE_LIMIT_ADDRESS_READ: '1000000000',
  },
});
export const locallyLimited = limited('local');
export const jointlyLimited = limited('database');

/** The service with a rule over several records of cookies. */
const ruled = (form) => ({
  ...service,
  name: `service, rule for ${form}`,
  program: 'bench/variants/with-rule/main.js',
  about: `the service with a rule that runs once for ${form} of the records of a transaction`,
  environment: { RULE: form },
});
export const ruledForAll = ruled('all');
export const ruledForOne = ruled('one');

export const audited = {
  ...service,
  name: 'service, audited',
  program: 'bench/variants/audited/main.js',
  about: 'the service with an audit trail of cookies',
};

/** The service with traces of this share of the requests. */
const tracedShare = (share) => ({
  ...service,
  name: `service, traces ${share}`,
  about: `the service that sends the spans of ${share} of the requests to a collector on the core of the load`,
  environment: {
    OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR,
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: String(share),
  },
});
export const traced = [1, 0.01].map(tracedShare);

export const byHand = {
  name: 'by hand',
  program: 'bench/variants/by-hand/main.js',
  about:
    'one program by hand on Fastify: its JSON schemas, the cache of fast-jwt, better-sqlite3 (or `pg`), a line of pino and ' +
    'a histogram of prom-client for each request, the header fields, durability and capacity of the service. On SQLite ' +
    'the writes of one turn of the event loop share a commit; on PostgreSQL each is a transaction',
};

export const stockNest = {
  name: 'stock Nest',
  program: 'dist/bench/variants/nest-typeorm/main.js',
  about:
    'Nest 12 on Fastify with TypeORM as their documentation shows it: `save`, `findOneBy`, ValidationPipe, ' +
    'ClassSerializerInterceptor, passport-jwt with a string secret; WAL with `synchronous=FULL`, and a capacity that ' +
    'counts the records at each POST',
};
