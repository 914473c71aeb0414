/**
 * Compiles or downloads better-sqlite3 12 for Node 20, because its package has no compiled module. `.npmrc` turns
 * install scripts off, so this program runs the script of the package.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeMajor, requireSupportedNode } from '../src/config/node-version.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PACKAGE = nodeMajor >= 22 ? 'better-sqlite3' : 'better-sqlite3-12';
/** The compiled file. */
const MODULE = 'build/Release/better_sqlite3.node';
const require = createRequire(import.meta.url);

/** Downloads or compiles SQLite on Node 20. If this fails, the process ends with a message. */
function makeNativeModule() {
  if (nodeMajor >= 22 || sqliteLoads()) return;
  console.error(
    `Node ${process.versions.node}: ${PACKAGE} is downloaded or compiled once (npm rebuild ${PACKAGE}) ...`,
  );
  try {
    rebuild();
  } catch (error) {
    console.error(error.message);
  }
  if (sqliteLoads()) return;
  console.error(
    `${PACKAGE} could not be made on Node ${process.versions.node}: install a C++ compiler, make and Python, or Node 22 or newer, which needs none of them.`,
  );
  process.exit(1);
}

/** Makes the module in a copy: make(1) fails if the path has a blank, and another process may make it, too. */
function rebuild() {
  const place = [tmpdir(), '/tmp'].find((folder) => /^[\w./-]+$/.test(folder)) ?? tmpdir();
  const copy = mkdtempSync(join(place, 'native-module-'));
  const [from, to] = [ROOT, copy].map((folder) => join(folder, 'node_modules', PACKAGE));
  const draft = join(from, `${MODULE}.${process.pid}`);
  try {
    cpSync(from, to, { recursive: true });
    spawnSync('npm', ['rebuild', PACKAGE, '--ignore-scripts=false', '--loglevel=error'], {
      cwd: copy,
      // The package downloads its build with a program of another package.
      env: { ...process.env, PATH: `${join(ROOT, 'node_modules/.bin')}${delimiter}${process.env.PATH}` },
      // stdout belongs to the program that starts next.
      stdio: ['ignore', process.stderr, process.stderr],
      shell: process.platform === 'win32',
    });
    mkdirSync(dirname(draft), { recursive: true });
    cpSync(join(to, MODULE), draft);
    renameSync(draft, join(from, MODULE));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Tells whether the better-sqlite3 for this version of Node is installed. */
export function sqliteLoads() {
  try {
    const Database = require(PACKAGE);
    new Database(':memory:').close();
    return true;
  } catch {
    return false;
  }
}

requireSupportedNode();
makeNativeModule();
