import { dirname } from 'node:path';
import { QueryFailedError, TypeORMError } from 'typeorm';
import { fileProblem, isQuotaUsedUp, ownersOf, probeVolume, volumeProblem } from './file/file-problem.js';
import type { EngineError } from '../database-events.js';
import {
  DatabaseError,
  DatabaseStartError,
  DatabaseUnavailableError,
  DiskFullError,
  UnsafeIntegerError,
} from '../errors.js';

/** The (extended) result code of an error of SQLite (https://sqlite.org/rescode.html). */
export function sqliteCode(error: unknown): string {
  // `instanceof SqliteError` would fail in jest, where the class may come from another realm.
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && code.startsWith('SQLITE_') ? code : '';
}

export function isBusy(error: unknown): boolean {
  return sqliteCode(error).startsWith('SQLITE_BUSY');
}

/** Tells whether the volume is full, or the database has reached its allowed size. */
export function isFull(error: unknown): boolean {
  return engineErrorOf(error) === 'full';
}

export const fullVolumeError = (cause: unknown): Error =>
  Object.assign(new Error('database or disk is full', { cause }), { code: 'SQLITE_FULL' });

/** The error of a full volume if a used-up disk quota made a write fail, which SQLite reports as an I/O error. */
export function withQuota(error: unknown, path: string): unknown {
  const isQuota = sqliteCode(error) === 'SQLITE_IOERR_WRITE' && isQuotaUsedUp(probeVolume(path));
  return isQuota ? fullVolumeError(error) : error;
}

/** The service's error for a full, busy or damaged database; otherwise the error itself. */
export function translated(error: unknown): Error {
  if (isBusy(error)) return new DatabaseUnavailableError('The database is locked by another process', error);
  const kind = engineErrorOf(error);
  if (kind === undefined) return error as Error;
  if (kind === 'full') return new DiskFullError(error);
  const message = `The database file cannot be used (${sqliteCode(error)}: ${(error as Error).message})`;
  return new DatabaseUnavailableError(message, error, kind === 'unreachable' ? kind : 'damaged');
}

const OWN_ERRORS = [TypeORMError, DatabaseError, UnsafeIntegerError];

/** Converts an error to one that TypeORM code expects. */
export function explained(error: unknown, sql: string, parameters: unknown[]): Error {
  const known = translated(error);
  return OWN_ERRORS.some((type) => known instanceof type) ? known : new QueryFailedError(sql, parameters, known);
}

const KINDS_BY_CODE: readonly [RegExp, EngineError][] = [
  // SQLite reports a full volume as an I/O error if the WAL index cannot grow.
  [/^SQLITE_(FULL|IOERR_SHMSIZE)$/, 'full'],
  [/^SQLITE_(CORRUPT|NOTADB)/, 'corrupt'],
  [/^SQLITE_IOERR/, 'io'],
  [/^SQLITE_(CANTOPEN|READONLY|PROTOCOL|NOMEM)/, 'unreachable'],
];

/** The error of the file or its volume; `undefined` for errors of statements, and locks. */
export function engineErrorOf(error: unknown): EngineError | undefined {
  const code = sqliteCode(error);
  return KINDS_BY_CODE.find(([pattern]) => pattern.test(code))?.[1];
}

/** Explains to an operator why the file cannot be opened or written at start. */
export function startError(path: string, error: unknown): DatabaseStartError {
  const code = sqliteCode(error);
  const reasons: [RegExp, string][] = [
    [/^SQLITE_BUSY/, 'is locked by another process; stop that process, or raise DATABASE_BUSY_TIMEOUT'],
    [/^SQLITE_READONLY_DBMOVED/, 'was replaced or removed while it was opened, perhaps by a restore; start again'],
    [/^SQLITE_READONLY/, 'is read-only; give the user of the service the right to write the file and its folder'],
    [/^SQLITE_NOTADB/, 'is not a SQLite database; name another file, or restore this one from a backup'],
    [/^SQLITE_CORRUPT/, 'is corrupt; restore it from a backup'],
    [
      /^SQLITE_CANTOPEN/,
      'cannot be opened; check that it is no folder, that its folder exists and that the user of the service may write there',
    ],
    [/^SQLITE_FULL/, 'cannot be written: its volume is full; free space on it'],
    [/^SQLITE_IOERR/, `cannot be written (${code}); check that its volume has space and works`],
  ];
  const isDenied = /^SQLITE_(READONLY(?!_DBMOVED)|CANTOPEN)/.test(code);
  const problem = isDenied ? volumeProblem(path) : undefined;
  const known = reasons.find(([pattern]) => pattern.test(code))?.[1] ?? `cannot be used: ${fileProblem(path, error)}`;
  const reason = problem === undefined ? known : `cannot be written: ${problem}`;
  const lacksRight = isDenied && problem === undefined;
  const owners = lacksRight ? ownersOf([dirname(path), path, `${path}-wal`, `${path}-shm`]) : '';
  return new DatabaseStartError(`The database file ${path} ${reason}.${owners && ` ${owners}.`}`, { cause: error });
}
