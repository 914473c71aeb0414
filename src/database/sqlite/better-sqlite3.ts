import { createRequire } from 'node:module';
import type BetterSqlite3 from 'better-sqlite3';
import { nodeMajor } from '../../config/node-version.js';
import { DatabaseStartError } from '../errors.js';
import { isFull } from './sqlite-errors.js';

export type Database = BetterSqlite3.Database;
export type Statement = BetterSqlite3.Statement;

const require = createRequire(import.meta.url);

/** Version 13 crashes on Node 20, and version 12 on Node 24; see docs/adr/0074-two-versions-of-better-sqlite3.md. */
const PACKAGE = nodeMajor >= 22 ? 'better-sqlite3' : 'better-sqlite3-12';

/**
 * The better-sqlite3 for this version of Node. No other module imports the packages.
 * @throws {DatabaseStartError} when it is not installed
 */
export function betterSqlite3(): typeof BetterSqlite3 {
  return explainLoadErrors(() => require(PACKAGE) as typeof BetterSqlite3);
}

/**
 * Opens a database file. `using` closes it at the end of a block.
 * @throws {DatabaseStartError} with the remedy, when better-sqlite3 or its native module does not load
 * @throws SqliteError
 */
export function openDatabase(path: string, options?: BetterSqlite3.Options): Database & Disposable {
  const Implementation = betterSqlite3();
  const database = explainLoadErrors(() => new Implementation(path, options));
  return Object.assign(database, { [Symbol.dispose]: () => void database.close() });
}

function explainLoadErrors<T>(load: () => T): T {
  try {
    return load();
  } catch (error) {
    if (!isLoadError(error as NodeJS.ErrnoException)) throw error;
    const reason = (error as Error).message.replaceAll(/\s+/g, ' ');
    const remedy = PACKAGE === 'better-sqlite3' ? 'npm ci' : 'npm ci && npm run native';
    throw new DatabaseStartError(
      `better-sqlite3 does not load on Node ${process.versions.node} (${reason}): ` +
        `run ${remedy} with this version of Node`,
      { cause: error },
    );
  }
}

/** Version 12 throws the message when it has not been compiled. */
function isLoadError({ code = '', message }: NodeJS.ErrnoException): boolean {
  return /^(MODULE_NOT_FOUND|ERR_DLOPEN_FAILED)$/.test(code) || message.startsWith('Could not locate the bindings');
}

/**
 * Tests whether a database file can be written, without changing it: a read-only file opens without an error. A full
 * volume is accepted, because records can be read and deleted.
 * @throws SqliteError
 */
export function tryWriting(database: Database): void {
  const version = Number(database.pragma('user_version', { simple: true }));
  database.exec('BEGIN IMMEDIATE');
  try {
    // This writes the first page, even if the value stays the same.
    database.pragma(`user_version = ${version}`);
    database.exec('COMMIT');
  } catch (error) {
    if (!isFull(error)) throw error;
  } finally {
    if (database.inTransaction) database.exec('ROLLBACK');
  }
}
