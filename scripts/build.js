import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import './stale-output.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Compiles the service into `dist`, and bundles it. Ends the process when it does not compile. */
export async function build() {
  const nest = fileURLToPath(new URL('../node_modules/@nestjs/cli/bin/nest.js', import.meta.url));
  const { status } = spawnSync(process.execPath, [nest, 'build'], {
    cwd: ROOT,
    // stdout belongs to the program that is started next.
    stdio: ['ignore', process.stderr, process.stderr],
  });
  if (status !== 0) process.exit(status ?? 1);
  const { bundle } = await import('./bundle.js');
  await bundle();
}
