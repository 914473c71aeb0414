import { type EntityMetadata, QueryFailedError } from 'typeorm';
import type { ForeignKeyMetadata } from 'typeorm/metadata/ForeignKeyMetadata.js';

/**
 * What a statement broke: `unique`, a key that another row has; `foreign key`, a row that it refers to and that does not exist, or rows that
 * refer to what it deletes; `referenced`, the latter for certain; `rule`, a CHECK, a NOT NULL or the length of a column; `value`, a value
 * that the type of its column cannot hold, such as a text for a uuid.
 */
export type ViolationKind = 'unique' | 'foreign key' | 'referenced' | 'rule' | 'value';

export interface ConstraintViolation {
  readonly kind: ViolationKind;
  /** The first verb of the statement; none of a COMMIT. */
  readonly verb?: 'INSERT' | 'REPLACE' | 'UPDATE' | 'DELETE';
  /** What the database says: names of tables, columns and constraints, without any value. */
  readonly reason: string;
  /** Names that the columns in question may have in a request: of the column, of its property, of its relation. */
  readonly names: readonly string[];
  /** The value that its column cannot hold, where the database says which one it is. */
  readonly value?: unknown;
}

/**
 * Extended result codes of SQLite (https://sqlite.org/rescode.html) and SQLSTATEs of PostgreSQL
 * (https://www.postgresql.org/docs/current/errcodes-appendix.html). Since version 18 `RESTRICT` has 23001.
 */
const KINDS: Readonly<Record<string, ViolationKind>> = {
  SQLITE_CONSTRAINT_UNIQUE: 'unique',
  SQLITE_CONSTRAINT_PRIMARYKEY: 'unique',
  SQLITE_CONSTRAINT_ROWID: 'unique',
  SQLITE_CONSTRAINT_FOREIGNKEY: 'foreign key',
  SQLITE_CONSTRAINT_NOTNULL: 'rule',
  SQLITE_CONSTRAINT_CHECK: 'rule',
  SQLITE_CONSTRAINT_DATATYPE: 'rule',
  '23505': 'unique',
  '23P01': 'unique',
  '23503': 'foreign key',
  '23001': 'referenced',
  '23502': 'rule',
  '23514': 'rule',
  '22001': 'rule',
  '22003': 'value',
  '22007': 'value',
  '22008': 'value',
  '22021': 'value',
  '22P02': 'value',
  '22P05': 'value',
};

interface DriverError extends Error {
  readonly code?: unknown;
  /** PostgreSQL: the column that is NULL, the constraint, and the context of the error. */
  readonly column?: string;
  readonly constraint?: string;
  readonly where?: string;
}

/** PostgreSQL names the parameter of a wrong value: "unnamed portal parameter $1 = '...'". */
const PARAMETER = /^[^"\n]*\$(\d+)/;

/**
 * The constraint that an error of a statement tells of; `undefined` for any other error. Only an error of this service's own data
 * source counts: what another client of a database throws has the same codes.
 * @param entities those of the data source, which know the foreign keys of their tables
 */
export function constraintViolation(
  error: unknown,
  entities: readonly EntityMetadata[],
): ConstraintViolation | undefined {
  if (!(error instanceof QueryFailedError)) return undefined;
  const driverError = error.driverError as DriverError;
  const kind = kindOf(driverError);
  if (kind === undefined) return undefined;
  const { message, column, constraint } = driverError;
  const name = column ?? NOT_NULL_OF_SQLITE.exec(message)?.[1];
  return {
    kind,
    verb: VERB.exec(error.query)?.[1]?.toUpperCase() as ConstraintViolation['verb'],
    // PostgreSQL repeats the value, which is not for the log.
    reason: kind === 'value' ? `a value that its column cannot hold (${String(driverError.code)})` : message,
    names: kind === 'foreign key' ? foreignKeyNames(entities, constraint) : name === undefined ? [] : [name],
    value: (error.parameters as unknown[] | undefined)?.[Number(PARAMETER.exec(driverError.where ?? '')?.[1]) - 1],
  };
}

/** For ON DELETE RESTRICT, SQLite has the code of a trigger's RAISE, with the message of a foreign key. */
function kindOf({ code, message }: Error & { code?: unknown }): ViolationKind | undefined {
  if (code === 'SQLITE_CONSTRAINT_TRIGGER' && message === 'FOREIGN KEY constraint failed') return 'foreign key';
  return typeof code === 'string' ? KINDS[code] : undefined;
}

const NOT_NULL_OF_SQLITE = /^NOT NULL constraint failed: .*\.([^.]+)$/;

/** In `INSERT ... ON CONFLICT DO UPDATE` it is the insert. */
const VERB = /\b(INSERT|REPLACE|UPDATE|DELETE)\b/i;

/** The columns of the named key where the entity gives it the same name as the migration; else those of all keys: SQLite names none. */
function foreignKeyNames(entities: readonly EntityMetadata[], constraint: string | undefined): string[] {
  const keys = entities.flatMap(({ foreignKeys }) => foreignKeys);
  const named = keys.filter(({ name }) => name === constraint);
  return [...new Set((named.length > 0 ? named : keys).flatMap(namesOf))];
}

function namesOf({ columns }: ForeignKeyMetadata): string[] {
  return columns.flatMap(({ databaseName, propertyName, relationMetadata }) =>
    [databaseName, propertyName, relationMetadata?.propertyName].filter((name) => name !== undefined),
  );
}
