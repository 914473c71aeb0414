/**
 * The programs that are compared. Each reads the environment variables of the service (HOST, PORT, DATABASE_URL,
 * JWT_SECRET, COOKIES_CAPACITY) and ends on SIGTERM. Every other one is compared with the first.
 */
export const variants = [
  { name: 'service', program: 'dist/src/main.js', about: 'node dist/src/main.js, its request log into /dev/null' },
  {
    name: 'limit',
    program: 'bench/variants/limit.js',
    about: 'the same by hand on Fastify and better-sqlite3, without a log',
    // Its answers must be those of the first, or it would be measured at less work.
    answersAlike: true,
  },
];
