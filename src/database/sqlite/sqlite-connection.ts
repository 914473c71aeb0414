import { LRUCache } from 'lru-cache';
import { TypeORMError } from 'typeorm';
import { engineErrors } from '../events/error-events.js';
import { type Database, type Statement, openDatabase } from './better-sqlite3.js';
import { publishStatement } from '../events/statement-events.js';
import { engineErrorOf } from './sqlite-errors.js';

export type Row = Record<string, unknown>;

/** Result of a statement: its rows, or the number of changed rows and the last inserted id. */
export interface StatementResult {
  readonly rows?: Row[];
  /** The statement of the rows; see `exact-integers.ts`. */
  readonly source?: Statement;
  readonly changes: number;
  readonly lastInsertRowid?: number | bigint;
}

/** Reports each statement that took longer than the limit. */
export interface SlowStatements {
  /** In milliseconds. */
  readonly limit: number;
  readonly report: (milliseconds: number, sql: string) => void;
}

const CACHED_STATEMENTS = 500;

const SEVERAL_STATEMENTS =
  'The SQL string holds several statements, and none of them was run: send each by a query() of its own, and those that ' +
  'belong together inside dataSource.transaction(...)';

/**
 * One connection to the database file with its prepared statements. It never waits for the lock of another process,
 * because better-sqlite3 would block the event loop; callers retry instead.
 */
export class SqliteConnection {
  readonly database: Database;
  private readonly statements = new LRUCache<string, Statement>({ max: CACHED_STATEMENTS });
  private readonly kind: 'read' | 'write';

  constructor(
    path: string,
    { readonly }: { readonly: boolean },
    private readonly slow?: SlowStatements,
  ) {
    this.database = openDatabase(path, { readonly, fileMustExist: readonly, timeout: 0 });
    this.kind = readonly ? 'read' : 'write';
  }

  get inTransaction(): boolean {
    return this.database.inTransaction;
  }

  /** @throws {TypeORMError} for several statements in one string */
  prepare(sql: string): Statement {
    let statement = this.statements.get(sql);
    if (statement === undefined) {
      statement = this.compile(sql);
      this.statements.set(sql, statement);
    }
    return statement;
  }

  /** @throws SqliteError */
  run(sql: string, parameters: readonly unknown[] = []): StatementResult {
    const started = performance.now();
    try {
      const statement = this.prepare(sql);
      if (!statement.reader) return statement.run(...parameters);
      const rows = statement.all(...parameters) as Row[];
      return { rows, source: statement, changes: rows.length };
    } catch (error) {
      const kind = engineErrorOf(error);
      if (kind !== undefined) engineErrors.publish(kind);
      throw error;
    } finally {
      this.measured(performance.now() - started, sql);
    }
  }

  close(): void {
    this.statements.clear();
    this.database.close();
  }

  private compile(sql: string): Statement {
    try {
      return this.database.prepare(sql);
    } catch (error) {
      // better-sqlite3 throws this without a class or code. Comments and semicolons after the statement are allowed.
      if ((error as Error).message.endsWith('more than one statement')) throw new TypeORMError(SEVERAL_STATEMENTS);
      throw error;
    }
  }

  private measured(milliseconds: number, sql: string): void {
    if (this.slow !== undefined && milliseconds > this.slow.limit) this.slow.report(milliseconds, sql);
    publishStatement(this.kind, milliseconds / 1000);
  }
}
