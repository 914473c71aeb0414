import { readFileSync } from 'node:fs';
import { buildIfChanged } from '../../../scripts/build.js';
import { startPostgres } from './start-postgres.ts';

const EXAMPLE = new URL('../../../.env.example', import.meta.url);

/** Builds the service once before all tests, for tests that start it as a process, and starts a PostgreSQL server. */
export default async function build(): Promise<void> {
  neutralizeEnvironment();
  buildIfChanged();
  await startPostgres();
}

/** Removes the user's variables for the service and for PostgreSQL clients, and sets the umask. */
function neutralizeEnvironment(): void {
  const settings = readFileSync(EXAMPLE, 'utf8').matchAll(/^([A-Z_]+)=/gm);
  const names = new Set([...settings].map(([, name]) => name));
  for (const name of Object.keys(process.env)) {
    if (names.has(name) || /^PG[A-Z]+$/.test(name)) delete process.env[name];
  }
  process.env['NODE_ENV'] = 'test';
  process.umask(0o022);
}
