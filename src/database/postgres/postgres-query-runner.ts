import { finished, pipeline, Transform, type TransformCallback } from 'node:stream';
import {
  QueryFailedError,
  QueryResult,
  QueryRunnerAlreadyReleasedError,
  type Table,
  type TableColumn,
  TypeORMError,
} from 'typeorm';
import { Query } from 'typeorm/driver/Query.js';
import type { ReadStream } from 'typeorm/platform/PlatformTools.js';
import type { ColumnType } from 'typeorm/driver/types/ColumnTypes.js';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { PostgresQueryRunner as TypeOrmPostgresQueryRunner } from 'typeorm/driver/postgres/PostgresQueryRunner.js';
import { isAutoIncrement, scaleOf } from '../columns.js';
import { UnsafeIntegerError } from '../errors.js';
import { beginOf, HAS_BEGUN, isCommit, LEFT_OPEN, rejectLateStatement } from '../transaction-control.js';
import { mayWrite, type PostgresClient } from './connections/postgres-client.js';
import { explained, isConflict, outcomeUnknown } from './postgres-errors.js';
import { beginning, COMMIT, type TransactionLimits } from './postgres-transaction.js';

/** The parts of the driver that a query runner uses, beyond TypeORM's own. */
interface SessionDriver extends PostgresDriver {
  readonly limits: TransactionLimits;
  obtainMasterConnection(): Promise<[PostgresClient, () => void]>;
}

/** Key of the advisory lock of migrations, equal in all versions. */
const MIGRATION_LOCK = 0x636f6f6b696573n;

/** Milliseconds between two statements of a migration. A process that vanished would keep its locks for hours. */
const LONGEST_PAUSE = 600_000;

/** Attempts of a statement outside a transaction that the server undid in a conflict. */
const ATTEMPTS = 3;

/** Raw UPDATE and DELETE return rows, as on SQLite. TypeORM returns rows and a count on PostgreSQL. */
export class PostgresQueryRunner extends TypeOrmPostgresQueryRunner {
  declare driver: SessionDriver;
  private client?: PostgresClient;
  private migrating = false;
  /** Set before `isReleased`, because statements in flight may still run. */
  private isReleasedByCaller = false;
  /** Settles when the last transaction has ended. Absent after the next statement. */
  private ending?: Promise<unknown>;
  /** Resolves when no statement is in flight. */
  private settled: Promise<unknown> = Promise.resolve();

  /** TypeORM would release a runner whose connection breaks, and the next statement would not tell why it fails. */
  override connect(): Promise<PostgresClient> {
    this.databaseConnectionPromise ??= this.driver.obtainMasterConnection().then(([client, release]) => {
      this.driver.connectedQueryRunners.push(this);
      this.releaseCallback = release;
      this.client = client;
      return client;
    });
    return this.databaseConnectionPromise as Promise<PostgresClient>;
  }

  /** Throws the errors of `transaction` in engine.ts, or a `QueryFailedError` for an error of the statement. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the signature is TypeORM's
  override async query(sql: string, parameters?: any[], useStructuredResult = false): Promise<any> {
    if (this.ending !== undefined && beginOf(sql) === undefined) {
      await this.ending.catch(() => undefined);
      await rejectLateStatement(sql, () => this.isReleasedByCaller, this.dataSource.logger);
    }
    this.ending = undefined;
    if (this.isReleasedByCaller) throw new QueryRunnerAlreadyReleasedError();
    const result = this.run(sql, parameters, useStructuredResult);
    this.settled = Promise.allSettled([this.settled, result]).then(() => undefined);
    if (isCommit(sql) || ROLLS_BACK_ALL.test(sql)) this.ending = result;
    return result;
  }

  /** Rejects, as on SQLite, after `query('BEGIN')`: PostgreSQL would only warn, and end that transaction with this one. */
  override async startTransaction(
    ...[isolationLevel]: Parameters<TypeOrmPostgresQueryRunner['startTransaction']>
  ): Promise<void> {
    if (!this.isTransactionActive && this.client?.isInTransaction) throw new TypeORMError(HAS_BEGUN);
    await super.startTransaction(isolationLevel);
  }

  /** An `UnsafeIntegerError` ends the stream. It needs the package `pg-query-stream`. */
  override async stream(
    sql: string,
    parameters?: unknown[],
    onEnd?: () => void,
    onError?: (error: Error) => void,
  ): Promise<ReadStream> {
    const rows = await super.stream(sql, parameters);
    const checked = new Transform({ objectMode: true, transform: rejectUnsafeIntegers });
    pipeline(rows, checked, () => undefined);
    // A stream that is destroyed early, as when a client leaves, has neither event, and would keep its connection.
    finished(checked, { writable: false }, (error) => (error ? onError?.(error) : onEnd?.()));
    return checked as unknown as ReadStream;
  }

  /** Waits for its connection and the statements in flight, which would run on the connection of the next caller. */
  override async release(): Promise<void> {
    this.isReleasedByCaller = true;
    await Promise.allSettled([this.databaseConnectionPromise, this.settled]);
    // After a first release, another caller may have the connection.
    if (this.isReleased) return;
    const { client } = this;
    if (client && this.migrating) client.mustClose = true;
    else if (client?.isInTransaction && client.failure === undefined) this.dataSource.logger.log('warn', LEFT_OPEN);
    await super.release();
  }

  override async beforeMigration(): Promise<void> {
    (await this.connect()).isUnlimited = true;
    this.migrating = true;
  }

  override createTable(table: Table, ...rest: [boolean?, boolean?, boolean?]): Promise<void> {
    const copy = table.clone();
    copy.columns = copy.columns.map(portableColumn);
    return super.createTable(copy, ...rest);
  }

  override addColumn(table: Table | string, column: TableColumn): Promise<void> {
    return super.addColumn(table, portableColumn(column));
  }

  /** Converts the values in place. TypeORM would drop a column whose type or length changes, and add an empty one. */
  override async changeColumn(
    table: Table | string,
    oldColumn: TableColumn | string,
    newColumn: TableColumn,
  ): Promise<void> {
    const known = typeof table === 'string' ? await this.getCachedTable(table) : table;
    const changed = portableColumn(newColumn);
    changed.type = this.driver.normalizeType({ type: changed.type as ColumnType });
    const old = known.findColumnByName(typeof oldColumn === 'string' ? oldColumn : oldColumn.name);
    if (old !== undefined && isConverted(old, changed)) await this.convertColumn(known, old, changed);
    return super.changeColumn(known, old ?? oldColumn, changed);
  }

  private async convertColumn(table: Table, old: TableColumn, changed: TableColumn): Promise<void> {
    const name = this.driver.escape(old.name);
    const alter = `ALTER COLUMN ${name}`;
    // TypeORM renames the column afterwards, and the type of its enum.
    const after = Object.assign(changed.clone(), { name: old.name });
    const convert = (from: TableColumn, to: TableColumn, dropsDefault: string, setsDefault: string): Query => {
      const type = isEnum(to) ? this.buildEnumName(table, to) : this.driver.createFullType(to);
      const value = isEnum(from) || isEnum(to) ? `${name}::text` : name;
      const using = isEnum(to) ? `${value}::${type}` : conversion(value, from.type, to);
      const change = `${alter} TYPE ${type} USING ${using}`;
      return new Query(`ALTER TABLE ${this.escapePath(table)} ${dropsDefault}${change}${setsDefault}`);
    };
    // The default of the old type may have no value in the new type. TypeORM sets the new default.
    const [drop, restore] =
      old.default === undefined ? ['', ''] : [`${alter} DROP DEFAULT, `, `, ${alter} SET DEFAULT ${old.default}`];
    // Columns may share a type, by its `enumName`.
    const isNew = isEnum(after) && !(await this.hasEnumType(table, after));
    if (isNew) await this.executeQueries(this.createEnumTypeSql(table, after), this.dropEnumTypeSql(table, after));
    await this.executeQueries(convert(old, after, drop, ''), convert(after, old, '', restore));
    if (isEnum(old)) await this.executeQueries(this.dropEnumTypeSql(table, old), this.createEnumTypeSql(table, old));
    const { type, length, precision, scale, enum: values, enumName } = changed;
    Object.assign(old, { type, length, precision, scale, enum: values, enumName, default: undefined });
  }

  private async run(sql: string, parameters?: unknown[], isStructured = false, attempt = 1): Promise<unknown> {
    const isInTransaction = this.transactionDepth > 0 || this.client?.isInTransaction === true;
    const isFinal = isCommit(sql) || (!isInTransaction && mayWrite(sql));
    try {
      const result = (await super.query(this.complete(sql), parameters, true)) as QueryResult;
      return isStructured ? result : result.records;
    } catch (error) {
      const cause: unknown = error instanceof QueryFailedError ? error.driverError : error;
      // The conflict has undone this statement, but in a transaction also the statements before it.
      const again = !isInTransaction && isConflict(cause) && attempt < ATTEMPTS;
      if (again) return this.run(sql, parameters, isStructured, attempt + 1);
      throw (isFinal && outcomeUnknown(cause)) || explained(cause, sql, parameters ?? []);
    }
  }

  private complete(sql: string): string {
    if (isCommit(sql)) return COMMIT;
    const begin = beginOf(sql);
    if (begin === undefined) return sql;
    if (!this.migrating) return beginning(begin, this.driver.limits);
    // The advisory lock belongs to the transaction, because a pooler gives the session to others. While a migration
    // waits for a table, all requests for that table wait behind it, so it waits for half of their time-out.
    const limits = { statement: 0, lock: Math.ceil(this.driver.limits.lock / 2), idle: LONGEST_PAUSE };
    return `${beginning(begin, limits)}; ${NO_TRANSACTION_TIMEOUT}; SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`;
  }
}

/** Lifts a limit that the user or the database may have since PostgreSQL 17; older servers reject its name in SET. */
const NO_TRANSACTION_TIMEOUT = "SELECT set_config(name, '0', true) FROM pg_settings WHERE name = 'transaction_timeout'";

function rejectUnsafeIntegers(row: object, _encoding: string, done: TransformCallback): void {
  const values = (Object.values(row) as unknown[]).flat(Infinity);
  const unsafe = values.find((value) => value instanceof UnsafeIntegerError);
  if (unsafe) done(unsafe);
  else done(null, row);
}

const isEnum = ({ type }: TableColumn): boolean => type === 'enum';

/**
 * Tells whether a change of a column converts its values. Arrays, computed columns and the values of an enum are left
 * to TypeORM.
 */
function isConverted(old: TableColumn, changed: TableColumn): boolean {
  const isPlain = [old, changed].every(({ isArray, asExpression }) => !isArray && !asExpression);
  const isOther = old.type !== changed.type || old.length !== changed.length;
  return isPlain && (isOther || scaleOf(old) !== scaleOf(changed));
}

/**
 * Days, instants and texts without a zone are those of UTC, whatever the time zone of the session. A cast to a type with
 * a length would cut off texts, and a cast to an integer or to fewer digits would round.
 */
function conversion(column: string, from: string, target: TableColumn): string {
  const { type: to } = target;
  const [fromInstant, toInstant] = [from, to].map((type) => / with time zone$/i.test(type));
  if (from === 'date' && toInstant) return `${column}::timestamp AT TIME ZONE 'UTC'`;
  if (fromInstant && to === 'date') return `(${column} AT TIME ZONE 'UTC')::date`;
  if (fromInstant && /char|text/.test(to)) return `(${column} AT TIME ZONE 'UTC')::text`;
  if (toInstant && /char|text/.test(from)) {
    const isInUtc = `${column} ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.]+)?$'`;
    return `CASE WHEN ${isInUtc} THEN ${column}::timestamp AT TIME ZONE 'UTC' ELSE ${column}::timestamptz END`;
  }
  if (/^(bigint|smallint)$/.test(to) && /^(numeric|decimal|double precision|real)$/.test(from)) {
    return `CASE WHEN ${column} = trunc(${column}) THEN ${column}::${to} ELSE ${column}::text::${to} END`;
  }
  const scale = scaleOf(target);
  if (scale !== undefined) {
    const number = `${column}::numeric`;
    const failure = `(${column}::text || ' has more than ${scale} digits after the point')::numeric`;
    return `CASE WHEN ${number} = round(${number}, ${scale}) THEN ${number} ELSE ${failure} END`;
  }
  return `${column}::${to === 'character' ? 'bpchar' : to}`;
}

/** Not a rollback to a savepoint. */
const ROLLS_BACK_ALL = /^\s*(ROLLBACK|ABORT)\b(?!.*\bTO\b)/i;

/**
 * The PostgreSQL type of a column type. `integer` becomes a 64-bit type, as on SQLite, because ids, revisions and
 * counts reach 2^53 - 1. A date with a time becomes `timestamptz`, an instant that does not depend on a time zone.
 */
export function portable(type: string): string {
  if (/^(integer|int|int4)$/.test(type)) return 'bigint';
  if (/^simple-(json|array)$/.test(type)) return 'text';
  return /^(datetime|timestamp|timestamp without time zone)$/.test(type) ? 'timestamp with time zone' : type;
}

/** A generated number becomes an identity column. */
function portableColumn(column: TableColumn): TableColumn {
  const copy = column.clone();
  copy.type = portable(column.type);
  if (isAutoIncrement(copy)) copy.generationStrategy = 'identity';
  return copy;
}
