/** Runs jest with the given arguments on this version of Node. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { sqliteLoads } from './native-module.js';

const JEST = fileURLToPath(new URL('../node_modules/jest/bin/jest.js', import.meta.url));
const FLAGS = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];

if (!existsSync(JEST)) {
  console.error(
    'jest is not installed: --omit=dev or NODE_ENV=production makes npm leave it out. Run `npm ci --include=dev`.',
  );
  process.exit(1);
}
// npm leaves out packages that its version of Node cannot load.
if (!sqliteLoads()) {
  console.error(`Another version of Node has installed the packages: run npm ci with Node ${process.versions.node}.`);
  process.exit(1);
}
const jest = spawn(process.execPath, [...FLAGS, JEST, ...process.argv.slice(2)], { stdio: 'inherit' });
// Ctrl+C reaches both processes. A signal to this process alone is passed on.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => jest.kill('SIGTERM'));
jest.on('exit', (code) => process.exit(code ?? 1));
