/** Compiles the service into `dist`. `buildIfChanged` does so only if a source is newer than `dist`. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import './native-module.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DIST = join(ROOT, 'dist');
const FOLDERS = ['src', 'migrations'];
const FILES = ['ormconfig.ts', 'nest-cli.json', 'tsconfig.json', 'tsconfig.build.json'];
const NEST = join(ROOT, 'node_modules/@nestjs/cli/bin/nest.js');
// `npm prune --omit=dev` after a build writes the lock file, and removes the compiler.
if (existsSync(NEST)) FILES.push('package-lock.json');
/** The time of this file is the time of the last build. `start:dev` makes none. */
const STAMP = join(DIST, '.built');

/** The file with the process id of the running build. A build removes `dist`, so another one must wait. */
const LOCK = join(ROOT, 'dist.lock');
/** Milliseconds after which the lock of a killed build no longer counts, even if its process id is in use again. */
const LONGEST_BUILD = 300_000;

/** Ends the process when the service does not compile. @param isNeeded asked when no other build runs */
function build(isNeeded) {
  takeLock();
  process.once('exit', releaseLock);
  if (isNeeded()) compile();
  process.off('exit', releaseLock);
  releaseLock();
}

function compile() {
  const began = new Date();
  if (!existsSync(NEST)) {
    console.error(
      '@nestjs/cli is not installed: --omit=dev or NODE_ENV=production makes npm leave it out. Run `npm ci --include=dev`.',
    );
    process.exit(1);
  }
  const { status } = spawnSync(process.execPath, [NEST, 'build'], {
    cwd: ROOT,
    // stdout belongs to the program that starts next.
    stdio: ['ignore', process.stderr, process.stderr],
  });
  if (status !== 0) {
    // Its output would look like that of `start:dev`.
    rmSync(DIST, { recursive: true, force: true });
    process.exit(status ?? 1);
  }
  mkdirSync(DIST, { recursive: true });
  writeFileSync(STAMP, '');
  utimesSync(STAMP, began, began);
}

function takeLock() {
  while (!tryLock()) {
    if (isBuilding()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    else releaseLock();
  }
}

function tryLock() {
  try {
    writeFileSync(LOCK, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  }
}

/** Tells whether the process that took the lock still runs. */
function isBuilding() {
  if (Date.now() - timeOf(LOCK) > LONGEST_BUILD) return false;
  try {
    process.kill(Number(readFileSync(LOCK, 'utf8')), 0);
    return true;
  } catch {
    return false;
  }
}

function releaseLock() {
  rmSync(LOCK, { force: true });
}

const isStale = () => (existsSync(STAMP) ? newest([...inputs(), ...FILES]) >= timeOf(STAMP) : !isCompiled());

export function buildIfChanged() {
  if (isStale()) build(isStale);
}

/** Tells whether `start:dev` has compiled each source since its last change. A build would remove what it runs. */
function isCompiled() {
  const settings = newest(FILES);
  return inputs()
    .filter((name) => /(?<!\.spec|\.d)\.ts$/.test(name))
    .every((name) => timeOf(join('dist', name.replace(/ts$/, 'js'))) > Math.max(timeOf(name), settings));
}

/** The sources and their folders. A deleted file changes the time of its folder. */
function inputs() {
  return FOLDERS.flatMap((folder) => [
    folder,
    ...readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  ]);
}

const newest = (names) => Math.max(...names.map(timeOf));

/** @returns milliseconds; 0 if there is no such file */
function timeOf(path) {
  return statSync(resolve(ROOT, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) build(() => true);
