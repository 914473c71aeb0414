import { join } from 'node:path';
import { type Database, openDatabase } from '../../src/database/sqlite/better-sqlite3.js';

/** A committed change of one record. */
export interface Change {
  readonly serial: number;
  readonly operation: 'insert' | 'update' | 'delete';
  readonly id: number;
  readonly wish: string;
}

const READ = 'SELECT serial, operation, id, wish FROM fuzz_changes WHERE serial > ';

/** The changes of the records, written by triggers of the database in the transaction of each change. */
export interface ChangeLog {
  /** The changes committed after the given one, in order. */
  after(serial: number): Promise<Change[]>;
}

/** Adds the triggers to the database in `folder`. */
export function changeLogIn(folder: string): ChangeLog {
  const open = (): Database => openDatabase(join(folder, 'cookies.sqlite'), { timeout: 10_000 });
  const trigger = (operation: string, row: string): string =>
    `CREATE TRIGGER fuzz_${operation} AFTER ${operation} ON cookies BEGIN
       INSERT INTO fuzz_changes (operation, id, wish) VALUES ('${operation}', ${row}.id, ${row}.wish);
     END;`;
  const database = open();
  database.exec(`
    CREATE TABLE fuzz_changes (serial INTEGER PRIMARY KEY AUTOINCREMENT, operation TEXT, id INTEGER, wish TEXT);
    ${trigger('insert', 'new')} ${trigger('update', 'new')} ${trigger('delete', 'old')}`);
  database.close();
  return {
    after(serial) {
      const reader = open();
      try {
        return Promise.resolve(reader.prepare(`${READ} ? ORDER BY serial`).all(serial) as Change[]);
      } finally {
        reader.close();
      }
    },
  };
}
