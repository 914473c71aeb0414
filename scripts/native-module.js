/**
 * Compiles or downloads better-sqlite3 12 for Node 20, because its package has no compiled module. `.npmrc` turns
 * install scripts off, so this program runs the script of the package.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeMajor, requireSupportedNode } from '../src/config/node-version.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PACKAGE = 'better-sqlite3-12';
/** The compiled file. */
const MODULE = 'build/Release/better_sqlite3.node';
/** The lock file with the id of the process that makes the module. Two processes would overwrite each other's files. */
const LOCK = join(ROOT, 'node_modules/.native-module.lock');
const LONGEST_WAIT = 15 * 60_000;
const require = createRequire(import.meta.url);

/** Ends the process with a message if the module cannot be made. */
function makeNativeModule() {
  if (nodeMajor >= 22 || loads()) return;
  lock();
  try {
    if (!loads()) rebuild();
  } finally {
    rmSync(LOCK, { force: true });
  }
  if (loads()) return;
  console.error(
    `${PACKAGE} could not be made on Node ${process.versions.node}: install a C++ compiler, make and Python, or Node 22 or newer, which needs none of them.`,
  );
  process.exit(1);
}

function rebuild() {
  console.error(
    `Node ${process.versions.node}: ${PACKAGE} is downloaded or compiled once (npm rebuild ${PACKAGE}) ...`,
  );
  if (/^[\w./:\\-]+$/.test(ROOT)) rebuildIn(ROOT);
  else rebuildElsewhere();
}

/** Compiles the package in a copy, because make(1) fails if the path has a blank. */
function rebuildElsewhere() {
  const place = [tmpdir(), '/tmp'].find((folder) => /^[\w./-]+$/.test(folder)) ?? tmpdir();
  const copy = mkdtempSync(join(place, 'cookies-native-'));
  const [from, to] = [ROOT, copy].map((folder) => join(folder, 'node_modules', PACKAGE));
  try {
    cpSync(from, to, { recursive: true });
    rebuildIn(copy);
    cpSync(join(to, MODULE), join(from, MODULE));
  } catch (error) {
    console.error(error.message);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function rebuildIn(folder) {
  spawnSync('npm', ['rebuild', PACKAGE, '--ignore-scripts=false', '--loglevel=error'], {
    cwd: folder,
    // The package downloads its build with a program of another package.
    env: { ...process.env, PATH: `${join(ROOT, 'node_modules/.bin')}${delimiter}${process.env.PATH}` },
    // stdout belongs to the program that starts next.
    stdio: ['ignore', process.stderr, process.stderr],
    shell: process.platform === 'win32',
  });
}

/** Waits while another process makes the module. */
function lock() {
  for (let waited = 0; waited < LONGEST_WAIT; waited += 500) {
    if (tryLock()) return;
    if (waited === 0) console.error(`Waiting for process ${lockOwner()}, which is making ${PACKAGE} ...`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
  }
  console.error(`${PACKAGE} is still being made by process ${lockOwner()}: end it, or remove ${LOCK}.`);
  process.exit(1);
}

/** @returns whether this process has the lock. A lock whose process has ended is removed. */
function tryLock() {
  try {
    writeFileSync(LOCK, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    const owner = lockOwner();
    if (owner !== 0 && !isRunning(owner)) rmSync(LOCK, { force: true });
    return false;
  }
}

/** @returns 0 if there is no lock, or its owner has not written its id yet */
function lockOwner() {
  try {
    return Number(readFileSync(LOCK, 'utf8'));
  } catch {
    return 0;
  }
}

function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function loads() {
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
