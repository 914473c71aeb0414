/**
 * The programs that are compared. Each reads the environment variables of the service (HOST, PORT, DATABASE_URL,
 * JWT_SECRET, COOKIES_CAPACITY) and ends on SIGTERM. Every other one is compared with the first.
 */
export const variants = [
  {
    name: 'service',
    program: 'dist/src/main.js',
    about: 'this service: `node dist/src/main.js`, its request log into /dev/null',
    readiness: '/health/ready',
  },
  {
    name: 'limit',
    program: 'bench/variants/limit.js',
    about:
      'by hand on Fastify and better-sqlite3: the checks, header fields, durability and capacity of the service; no ' +
      'modules, metrics or log; writes of one turn of the event loop share a commit; a list is `.all()` and `JSON.stringify`',
    // Its answers must be those of the first, or it would be measured at less work.
    answersAlike: true,
  },
  {
    name: 'nest-typeorm',
    program: 'dist/bench/nest-typeorm/main.js',
    about:
      'Nest 12 on Fastify with TypeORM as their documentation shows it: `save`, `findOneBy`, ValidationPipe, ' +
      'ClassSerializerInterceptor, passport-jwt with a string secret; WAL with `synchronous=FULL`, and a capacity that ' +
      'counts the records at each POST',
    connections: [64],
    skips: { unchanged: 'it sends no ETag' },
  },
  {
    name: 'json-server',
    program: 'bench/variants/json-server.js',
    about:
      'json-server 0.17: no token, no validation, no capacity; it holds all records in memory and rewrites its file at ' +
      'each change, without making it durable',
    storage: 'json',
    connections: [64],
  },
];

/** The service with two processes, which is compared with the service where each can have a core. */
export const twoWorkers = {
  ...variants[0],
  name: 'service, two workers',
  env: { WORKERS: '2' },
  role: 'workers',
};

/** What the service is compared with on PostgreSQL. */
export const limitPostgres = {
  name: 'limit-postgres',
  program: 'bench/variants/limit-postgres.js',
  about:
    'by hand on Fastify and `pg`, with the checks and header fields of the service: named prepared statements, a pool of ' +
    '10, a statement for each GET and a transaction for each POST',
};
