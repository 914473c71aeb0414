import { type EntityMetadata, QueryFailedError } from 'typeorm';

/**
 * The constraint that a statement violated.
 * - `unique`: another row has the key
 * - `foreign key`: a referenced row does not exist, or rows refer to the row to delete
 * - `referenced`: rows refer to the row to delete
 * - `rule`: a CHECK, NOT NULL or the length of a column
 * - `value`: the type or an index of the column cannot hold the value, such as a text for a uuid
 * - `capacity`: a trigger reports that a resource is full
 */
type ViolationKind = 'unique' | 'foreign key' | 'referenced' | 'rule' | 'value' | 'capacity';

/** The message of the triggers that keep a resource within its capacity. */
export const CAPACITY_REACHED = 'Storage is full';

export interface ConstraintViolation {
  readonly kind: ViolationKind;
  /** The first verb of the statement; absent for a COMMIT. */
  readonly verb?: 'INSERT' | 'REPLACE' | 'UPDATE' | 'DELETE';
  /** The message of the database with names of tables, columns and constraints, but no value. */
  readonly reason: string;
  /** Names that the columns may have in a request: of the column, its property or its relation. */
  readonly names: readonly string[];
  /** The value that its column cannot hold, if the database names it. */
  readonly value?: unknown;
}

/**
 * Extended result codes of SQLite (https://sqlite.org/rescode.html) and SQLSTATEs of PostgreSQL
 * (https://www.postgresql.org/docs/current/errcodes-appendix.html). 23001 is the code of `RESTRICT` since version 18.
 */
const KINDS: readonly [RegExp, ViolationKind][] = [
  [/^(SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY|ROWID)|23505|23P01)$/, 'unique'],
  [/^(SQLITE_CONSTRAINT_FOREIGNKEY|23503)$/, 'foreign key'],
  [/^23001$/, 'referenced'],
  [/^(SQLITE_CONSTRAINT_(NOTNULL|CHECK|DATATYPE)|23502|23514|22001)$/, 'rule'],
  [/^(22003|22007|22008|22021|22P02|22P05|54000)$/, 'value'],
];

interface DriverError extends Error {
  readonly code?: unknown;
  /** PostgreSQL sets these: the column that is NULL, the constraint, and the context of the error. */
  readonly column?: string;
  readonly constraint?: string;
  readonly where?: string;
  /** Of a violated UNIQUE: "Key (code)=(x) already exists." */
  readonly detail?: string;
  readonly table?: string;
}

/** PostgreSQL names the parameter of a wrong value: "unnamed portal parameter $1 = '...'". */
const PARAMETER = /^[^"\n]*\$(\d+)/;

/**
 * The constraint that an error of TypeORM reports; `undefined` for any other error.
 * @param entities metadata with the foreign keys of the tables
 */
export function constraintViolation(
  error: unknown,
  entities: readonly EntityMetadata[],
): ConstraintViolation | undefined {
  if (!(error instanceof QueryFailedError)) return undefined;
  const driverError = error.driverError as DriverError;
  const kind = violationKindOf(driverError);
  if (kind === undefined) return undefined;
  return {
    kind,
    verb: VERB.exec(error.query)?.[1]?.toUpperCase() as ConstraintViolation['verb'],
    // PostgreSQL repeats the value, which must not be logged.
    reason:
      kind === 'value' ? `a value that its column cannot hold (${String(driverError.code)})` : driverError.message,
    names: namesIn(driverError, kind, entities),
    value: (error.parameters as unknown[] | undefined)?.[Number(PARAMETER.exec(driverError.where ?? '')?.[1]) - 1],
  };
}

/** SQLite reports ON DELETE RESTRICT with the code of a trigger's RAISE and the message of a foreign key. */
function violationKindOf({ code, message }: DriverError): ViolationKind | undefined {
  if (message === CAPACITY_REACHED) return 'capacity';
  if (code === 'SQLITE_CONSTRAINT_TRIGGER' && message === 'FOREIGN KEY constraint failed') return 'foreign key';
  return KINDS.find(([codes]) => codes.test(String(code)))?.[1];
}

function namesIn(error: DriverError, kind: ViolationKind, entities: readonly EntityMetadata[]): string[] {
  if (kind === 'foreign key') return foreignKeyNames(entities, error.constraint);
  if (kind === 'unique') return uniqueNames(entities, error);
  const name = error.column ?? NOT_NULL_OF_SQLITE.exec(error.message)?.[1];
  return name === undefined ? [] : [name];
}

const NOT_NULL_OF_SQLITE = /^NOT NULL constraint failed: .*\.([^.]+)$/;
const UNIQUE_OF_SQLITE = /^UNIQUE constraint failed: (.+)$/;
const UNIQUE_OF_POSTGRES = /\((.+?)\)=\(/;

/** Properties of a violated UNIQUE; none for an index of expressions. */
function uniqueNames(entities: readonly EntityMetadata[], { message, detail = '', table }: DriverError): string[] {
  const keys = (UNIQUE_OF_SQLITE.exec(message) ?? UNIQUE_OF_POSTGRES.exec(detail))?.[1]?.split(', ') ?? [];
  return keys.flatMap((key) => {
    const [column, ofTable = table] = key.replaceAll('"', '').split('.').reverse();
    const entity = entities.find(({ tableName }) => tableName === ofTable);
    return entity?.columns.find(({ databaseName }) => databaseName === column)?.propertyName ?? [];
  });
}

/** Matches the first verb: INSERT in `INSERT ... ON CONFLICT DO UPDATE`. */
const VERB = /\b(INSERT|REPLACE|UPDATE|DELETE)\b/i;

/** Names for the columns of the violated foreign key, or of all keys on SQLite, which does not name it. */
function foreignKeyNames(entities: readonly EntityMetadata[], constraint: string | undefined): string[] {
  const keys = entities.flatMap(({ foreignKeys }) => foreignKeys);
  const named = keys.filter(({ name }) => name === constraint);
  const columns = (named.length > 0 ? named : keys).flatMap((key) => key.columns);
  const names = columns.flatMap(({ databaseName, propertyName, relationMetadata }) => [
    databaseName,
    propertyName,
    relationMetadata?.propertyName,
  ]);
  return [...new Set(names.filter((name) => name !== undefined))];
}
