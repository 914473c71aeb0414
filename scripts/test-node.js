/**
 * Runs the tests on other versions of Node, one after the other:
 *
 *   npm run test:node -- 22 24 26                              all tests on each
 *   npm run test:node -- 24 26 -- test/readme.e2e-spec.ts      with arguments for jest
 *
 * Node comes from npm's packages `node-<platform>-<arch>`, which `npx` keeps in its cache.
 */
import './supported-node.js';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const IS_WINDOWS = process.platform === 'win32';
const INSTALL = ['install', '--ignore-scripts', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'];

/** Runs a program on a version of Node. Ends this process if the program fails. */
function runOn(version, ...program) {
  const name = `node-${IS_WINDOWS ? 'win' : process.platform}-${process.arch}@${version}`;
  const args = ['--yes', '--package', name, '--', ...program];
  const { status } = spawnSync('npx', args, { cwd: ROOT, stdio: 'inherit', shell: IS_WINDOWS });
  if (status === 0) return;
  console.error(`${program.join(' ')} failed on Node ${version}`);
  process.exit(status ?? 1);
}

const words = process.argv.slice(2);
const end = words.includes('--') ? words.indexOf('--') : words.length;
const versions = words.slice(0, end);
if (versions.length === 0 || !versions.every((version) => /^[0-9]+(\.[0-9]+){0,2}$/.test(version))) {
  console.error('npm run test:node -- <version of Node>... [-- <arguments of jest>...], for example: 22 24 26');
  process.exit(2);
}
for (const version of versions) {
  // `npm ci` on Node 20 leaves out packages for newer versions.
  if (!existsSync(join(ROOT, 'node_modules/better-sqlite3'))) runOn(version, 'npm', ...INSTALL);
  console.log(`\nNode ${version}:`);
  runOn(version, 'node', 'scripts/test.js', ...words.slice(end + 1));
}
