import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** Builds the service once before all tests, for those that start it as a process. */
export default function build(): void {
  const root = join(import.meta.dirname, '..');
  execFileSync(process.execPath, [join(root, 'node_modules/@nestjs/cli/bin/nest.js'), 'build'], {
    cwd: root,
    stdio: 'inherit',
  });
}
