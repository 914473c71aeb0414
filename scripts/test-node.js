/**
 * Runs the tests on other versions of Node, one after the other:
 *
 *   npm run test:node -- 22 24 26                              all tests on each
 *   npm run test:node -- 24 26 -- test/readme.e2e-spec.ts      with arguments for jest
 *
 * Node comes from npm's packages `node-<platform>-<arch>`, which are cached in `node_modules/.cache`.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { requireSupportedNode } from '../src/config/node-version.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const IS_WINDOWS = process.platform === 'win32';
const INSTALL = ['--ignore-scripts', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'];

/** @returns the versions of Node, and the arguments for jest */
function readArguments() {
  const words = process.argv.slice(2);
  const end = words.indexOf('--');
  return end < 0 ? [words, []] : [words.slice(0, end), words.slice(end + 1)];
}

/** Ends this process if the program fails. */
function run(program, args, options) {
  const { status, error } = spawnSync(program, args, { cwd: ROOT, stdio: 'inherit', ...options });
  if (status === 0) return;
  console.error(`${program} ${args.join(' ')} failed${error === undefined ? '' : `: ${error.message}`}`);
  process.exit(status ?? 1);
}

/** @returns the path of the node program of this version */
function installNode(line) {
  const name = `node-${IS_WINDOWS ? 'win' : process.platform}-${process.arch}`;
  const folder = join(ROOT, 'node_modules/.cache/node-lines', line);
  const node = join(folder, 'node_modules', name, 'bin', IS_WINDOWS ? 'node.exe' : 'node');
  if (!existsSync(node)) npm(process.env, ['install', ...INSTALL, '--prefix', folder, `${name}@${line}`]);
  return node;
}

function npm(env, args) {
  run('npm', args, { env, shell: IS_WINDOWS });
}

requireSupportedNode();
const [lines, jestArguments] = readArguments();
if (lines.length === 0 || !lines.every((line) => /^[0-9]+(\.[0-9]+){0,2}$/.test(line))) {
  console.error('npm run test:node -- <version of Node>... [-- <arguments of jest>...], for example: 22 24 26');
  process.exit(2);
}
for (const line of lines) {
  const node = installNode(line);
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` };
  // `npm ci` on Node 20 leaves out packages for newer versions.
  if (!existsSync(join(ROOT, 'node_modules/better-sqlite3'))) npm(env, ['install', ...INSTALL]);
  console.log(`\nNode ${line}:`);
  run(node, [join(ROOT, 'scripts/test.js'), ...jestArguments], { env });
}
