import { createRequire } from 'node:module';
import process from 'node:process';

/** Two versions of better-sqlite3 are installed; this version of Node can load one of them. */
const NAME = Number.parseInt(process.versions.node, 10) >= 22 ? 'better-sqlite3' : 'better-sqlite3-12';
const Database = createRequire(import.meta.url)(NAME);

export function openDatabase(path) {
  return new Database(path);
}
