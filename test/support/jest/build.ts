import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { neutralizeEnvironment } from './environment.ts';
import { startPostgres } from './start-postgres.ts';

/** Builds the service once before all tests, for those that start it as a process, and starts a PostgreSQL server. */
export default async function build(): Promise<void> {
  neutralizeEnvironment();
  const root = join(import.meta.dirname, '../../..');
  execFileSync(process.execPath, [join(root, 'scripts/stale-output.js')]);
  // What `nest build` runs, which does not take up what `dist/.tsbuildinfo` knows: without a change this takes a third of the time.
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
  });
  execFileSync(process.execPath, [join(root, 'scripts/bundle.js')], { stdio: 'inherit' });
  await startPostgres();
}
