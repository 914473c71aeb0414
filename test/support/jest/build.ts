import { buildIfChanged } from '../../../scripts/build.js';
import { neutralizeEnvironment } from './environment.ts';
import { startPostgres } from './start-postgres.ts';

/** Builds the service once before all tests, for tests that start it as a process, and starts a PostgreSQL server. */
export default async function build(): Promise<void> {
  neutralizeEnvironment();
  buildIfChanged();
  await startPostgres();
}
