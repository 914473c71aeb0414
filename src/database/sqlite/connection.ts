import Database from 'better-sqlite3';
import { LRUCache } from 'lru-cache';

export type Row = Record<string, unknown>;

/** What a statement gave: its rows, or for one without rows how many it changed and the last id it made. */
export interface StatementResult {
  readonly rows?: Row[];
  readonly changes: number;
  readonly lastInsertRowid?: number | bigint;
}

const CACHED_STATEMENTS = 500;

/**
 * One connection to the database file, with its prepared statements. Never waits for another process's lock:
 * better-sqlite3 waits by stopping the event loop, so waiting is left to the callers, who can await.
 */
export class Connection {
  readonly database: Database.Database;
  private readonly statements = new LRUCache<string, Database.Statement>({ max: CACHED_STATEMENTS });

  constructor(path: string, options: { readonly: boolean }) {
    this.database = new Database(path, { ...options, fileMustExist: options.readonly, timeout: 0 });
  }

  get inTransaction(): boolean {
    return this.database.inTransaction;
  }

  prepare(sql: string): Database.Statement {
    let statement = this.statements.get(sql);
    if (statement === undefined) {
      statement = this.database.prepare(sql);
      this.statements.set(sql, statement);
    }
    return statement;
  }

  run(sql: string, parameters: unknown[] = []): StatementResult {
    const statement = this.prepare(sql);
    if (statement.reader) {
      const rows = statement.all(...parameters) as Row[];
      return { rows, changes: rows.length };
    }
    return statement.run(...parameters);
  }

  close(): void {
    this.statements.clear();
    this.database.close();
  }
}
