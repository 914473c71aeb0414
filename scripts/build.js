/**
 * Compiles the service into `dist`, as `nest build` does. `buildIfChanged` does so only if a source is newer than `dist`, and
 * compiles only what has changed.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import './native-module.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDERS = ['src', 'migrations'];
const FILES = ['ormconfig.ts', 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json'];
/** The time of this file is the time of the last build. */
const STAMP = join(ROOT, 'dist/.built');

const TSC = [
  'node_modules/typescript/bin/tsc',
  '-p',
  'tsconfig.build.json',
  '--incremental',
  '--tsBuildInfoFile',
  'dist/.tsbuildinfo',
];

/** Ends the process when the service does not compile. */
function build() {
  const began = new Date();
  const { status } = spawnSync(process.execPath, TSC, {
    cwd: ROOT,
    // stdout belongs to the program that starts next.
    stdio: ['ignore', process.stderr, process.stderr],
  });
  if (status !== 0) process.exit(status ?? 1);
  const isAsset = (name) => !/\.(ts|js)$/.test(name);
  cpSync(join(ROOT, 'src'), join(ROOT, 'dist/src'), { recursive: true, filter: isAsset });
  writeFileSync(STAMP, '');
  utimesSync(STAMP, began, began);
}

function clean() {
  rmSync(join(ROOT, 'dist'), { recursive: true, force: true });
}

export function buildIfChanged() {
  if (newestInput() < timeOf(STAMP)) return;
  if (FOLDERS.some(hasStaleFile)) clean();
  build();
}

/** Whether `dist` has a file whose source is gone, such as a migration of another branch. */
function hasStaleFile(folder) {
  const built = join(ROOT, 'dist', folder);
  if (!existsSync(built)) return false;
  const sources = (name) => [name, name.replace(/\.map$/, ''), name.replace(/\.js(\.map)?$/, '.ts')];
  return readdirSync(built, { recursive: true, encoding: 'utf8' }).some(
    (name) => !sources(name).some((source) => existsSync(join(ROOT, folder, source))),
  );
}

/** The time of the newest source or folder of sources. A deleted file changes the time of its folder. */
function newestInput() {
  const inFolders = FOLDERS.flatMap((folder) => [
    folder,
    ...readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  ]);
  return Math.max(...[...inFolders, ...FILES].map((name) => timeOf(join(ROOT, name))));
}

/** @returns milliseconds; 0 if there is no such file */
function timeOf(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  clean();
  build();
}
