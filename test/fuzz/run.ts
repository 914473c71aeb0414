/**
 * Looks for requests that the built service does not answer as it promises.
 *
 *   npm run fuzz                                   100 000 requests, half of them of each part
 *   npm run fuzz -- --requests 1000000 --seed 42
 *   npm run fuzz -- --only raw                     mutated bytes only; or model: valid and nearly valid operations
 *   npm run fuzz -- --engine postgres              on a separate PostgreSQL server
 *
 * One line of counts for each part goes to stdout, the progress to stderr. A violation ends it with 1; the seed and the
 * requests that show it are printed. The ones that are needed belong in regressions.ts.
 */
import { parseArgs } from 'node:util';
import { PostgresServer } from '../support/postgres/postgres-server.js';
import { fuzz } from './fuzz.js';

const PARTS = ['raw', 'model'] as const;
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    requests: { type: 'string', default: '100000' },
    only: { type: 'string' },
    engine: { type: 'string', default: 'sqlite' },
  },
});

const isNumber = (text: string): boolean => /^\d{1,9}$/.test(text);
const parts = PARTS.filter((part) => values.only === undefined || values.only === part);
const engines = ['sqlite', 'postgres'];
if (![values.seed, values.requests].every(isNumber) || parts.length === 0 || !engines.includes(values.engine)) {
  console.error(
    'npm run fuzz -- [--seed <number>] [--requests <number>] [--only raw|model] [--engine sqlite|postgres]',
  );
  process.exit(2);
}

// The end of the program ends started processes.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const server = values.engine === 'postgres' ? await PostgresServer.create({ fsync: 'off' }) : undefined;
process.once('exit', () => void server?.stop('SIGQUIT'));
try {
  const passed = await fuzz({
    seed: Number(values.seed),
    requests: Number(values.requests),
    clients: 24,
    parts,
    server,
    progress: (text) => console.error(text),
    report: (text) => console.log(text),
  });
  process.exitCode = passed ? 0 : 1;
} finally {
  await server?.remove();
}
