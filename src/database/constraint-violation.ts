import { type EntityMetadata, QueryFailedError } from 'typeorm';
import type { ForeignKeyMetadata } from 'typeorm/metadata/ForeignKeyMetadata.js';

/**
 * What a write broke: `unique`, a key that another row has; `missing parent`, a row that it refers to and that does not exist;
 * `referenced`, rows that refer to what it would delete or change; `rule`, a CHECK, a NOT NULL or the length of a column. And `value`, for any
 * statement: a value that the type of its column cannot hold, such as a text for a uuid.
 */
export type ViolationKind = 'unique' | 'missing parent' | 'referenced' | 'rule' | 'value';

export interface ConstraintViolation {
  readonly kind: ViolationKind;
  /** What the database says: names of tables, columns and constraints, without any value. */
  readonly reason: string;
  /** Names that the columns in question may have in a request: of the column, of its property, of its relation. */
  readonly names: readonly string[];
  /** What the statement was given. */
  readonly values: readonly unknown[];
}

/**
 * Extended result codes of SQLite (https://sqlite.org/rescode.html) and SQLSTATEs of PostgreSQL
 * (https://www.postgresql.org/docs/current/errcodes-appendix.html). Since version 18 `RESTRICT` has 23001.
 */
const KINDS: Readonly<Record<string, ViolationKind | 'foreign key'>> = {
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

/** What is known of a failed statement, on either engine. */
interface Failure {
  readonly message: string;
  readonly sql: string;
  /** PostgreSQL: the table that has the constraint, the column that is NULL, and the constraint. */
  readonly table?: string;
  readonly column?: string;
  readonly constraint?: string;
}

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
  const driverError = error.driverError as Error & { code?: unknown } & Partial<Failure>;
  const kind = kindOf(driverError);
  if (kind === undefined) return undefined;
  const { message, table, column, constraint } = driverError;
  const values = Object.values(error.parameters ?? []) as unknown[];
  const failure = { message, sql: error.query, table, column, constraint };
  if (kind === 'foreign key') return { ...foreignKeyViolation(failure, entities), values };
  const name = column ?? NOT_NULL_OF_SQLITE.exec(message)?.[1];
  // PostgreSQL repeats the value, which is not for the log.
  const reason = kind === 'value' ? `a value that its column cannot hold (${String(driverError.code)})` : message;
  return { kind, reason, names: name === undefined ? [] : [name], values };
}

/** For ON DELETE RESTRICT, SQLite has the code of a trigger's RAISE, with the message of a foreign key. */
function kindOf({ code, message }: Error & { code?: unknown }): ViolationKind | 'foreign key' | undefined {
  if (code === 'SQLITE_CONSTRAINT_TRIGGER' && message === 'FOREIGN KEY constraint failed') return 'foreign key';
  return typeof code === 'string' ? KINDS[code] : undefined;
}

const NOT_NULL_OF_SQLITE = /^NOT NULL constraint failed: .*\.([^.]+)$/;

/** The statement's first verb; in `INSERT ... ON CONFLICT DO UPDATE` it is the insert. */
const VERB = /\b(INSERT|REPLACE|UPDATE|DELETE)\b/i;
/** With its schema or without; only in quotes, a name may have other characters than those of a word. */
const TABLE = /\b(?:INTO|UPDATE|FROM)\s+(?:OR\s+\w+\s+)?(?:(?:["`][^"`]+["`]|\w+)\.)?(?:["`]([^"`]+)["`]|(\w+))/i;
const ASSIGNMENTS = /\bSET\b([\s\S]*?)(?:\bWHERE\b|\bRETURNING\b|$)/i;

/** SQLite does not say which key it was, nor on which side, and the messages of PostgreSQL may be translated: the statement tells. */
function foreignKeyViolation(
  failure: Failure,
  entities: readonly EntityMetadata[],
): Omit<ConstraintViolation, 'values'> {
  const { message: reason, sql } = failure;
  const verb = VERB.exec(sql)?.[1]?.toUpperCase();
  const [, quoted, plain] = TABLE.exec(sql) ?? [];
  const table = quoted ?? plain;
  const keys = foreignKeysOf(table, failure.constraint, entities);
  if (verb === 'INSERT' || verb === 'REPLACE') return { kind: 'missing parent', reason, names: keys.flatMap(namesOf) };
  // On PostgreSQL, the table is the one that refers to another.
  const mayRefer = verb === 'UPDATE' && table !== undefined && (failure.table ?? table) === table;
  const assigned = mayRefer ? (ASSIGNMENTS.exec(sql)?.[1] ?? '') : '';
  const changed = keys.filter((key) => key.columnNames.some((name) => assigns(assigned, name)));
  const isMissing = changed.length > 0 || (mayRefer && keys.length === 0 && failure.table !== undefined);
  return { kind: isMissing ? 'missing parent' : 'referenced', reason, names: changed.flatMap(namesOf) };
}

/** Those of the table; only the named one, where the entity gives it the same name as the migration. */
function foreignKeysOf(
  table: string | undefined,
  constraint: string | undefined,
  entities: readonly EntityMetadata[],
): ForeignKeyMetadata[] {
  const entity = entities.find(({ tableName }) => tableName.toLowerCase() === table?.toLowerCase());
  const keys = entity?.foreignKeys ?? [];
  const named = keys.filter(({ name }) => name === constraint);
  return named.length > 0 ? named : keys;
}

function namesOf({ columns }: ForeignKeyMetadata): string[] {
  return columns.flatMap(({ databaseName, propertyName, relationMetadata }) =>
    [databaseName, propertyName, relationMetadata?.propertyName].filter((name) => name !== undefined),
  );
}

function assigns(assignments: string, column: string): boolean {
  const name = column.replaceAll(/[^\w]/g, String.raw`\$&`);
  return new RegExp(String.raw`(?:^|[\s,"\`\[])${name}["\`\]]?\s*=`, 'i').test(assignments);
}
