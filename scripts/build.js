/** Compiles the service into `dist`. `buildIfChanged` does so only if a source is newer than `dist`. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import './native-module.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDERS = ['src', 'migrations'];
const FILES = ['ormconfig.ts', 'nest-cli.json', 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json'];
/** The time of this file is the time of the last build. */
const STAMP = join(ROOT, 'dist/.built');

/** Ends the process when the service does not compile. */
function build() {
  const began = new Date();
  const nest = join(ROOT, 'node_modules/@nestjs/cli/bin/nest.js');
  const { status } = spawnSync(process.execPath, [nest, 'build'], {
    cwd: ROOT,
    // stdout belongs to the program that starts next.
    stdio: ['ignore', process.stderr, process.stderr],
  });
  if (status !== 0) process.exit(status ?? 1);
  mkdirSync(join(ROOT, 'dist'), { recursive: true });
  writeFileSync(STAMP, '');
  utimesSync(STAMP, began, began);
}

export function buildIfChanged() {
  if (newestInput() >= timeOf(STAMP)) build();
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

if (process.argv[1] === fileURLToPath(import.meta.url)) build();
