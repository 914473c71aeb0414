import { join } from 'node:path';
import { openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import { onServer } from '../support/postgres/postgres-server.js';

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

/** Adds the triggers to the SQLite database in `folder`. */
export function sqliteChangeLog(folder: string): ChangeLog {
  const open = () => openDatabase(join(folder, 'cookies.sqlite'), { timeout: 10_000 });
  const trigger = (operation: string, row: string): string =>
    `CREATE TRIGGER fuzz_${operation} AFTER ${operation} ON cookies BEGIN
       INSERT INTO fuzz_changes (operation, id, wish) VALUES ('${operation}', ${row}.id, ${row}.wish);
     END;`;
  using database = open();
  database.exec(`
    CREATE TABLE fuzz_changes (serial INTEGER PRIMARY KEY AUTOINCREMENT, operation TEXT, id INTEGER, wish TEXT);
    ${trigger('insert', 'new')} ${trigger('update', 'new')} ${trigger('delete', 'old')}`);
  return {
    after(serial) {
      using reader = open();
      return Promise.resolve(reader.prepare(`${READ} ? ORDER BY serial`).all(serial) as Change[]);
    },
  };
}

/** Adds the triggers to a database on PostgreSQL. */
export async function postgresChangeLog(url: string): Promise<ChangeLog> {
  await onServer(url, (client) =>
    client.query(`
      CREATE TABLE fuzz_changes (serial bigserial PRIMARY KEY, operation text, id bigint, wish text);
      CREATE FUNCTION fuzz_note() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE changed cookies;
        BEGIN
          IF TG_OP = 'DELETE' THEN changed := OLD; ELSE changed := NEW; END IF;
          INSERT INTO fuzz_changes (operation, id, wish) VALUES (lower(TG_OP), changed.id, changed.wish);
          RETURN NULL;
        END $$;
      CREATE TRIGGER fuzz_changes AFTER INSERT OR UPDATE OR DELETE ON cookies
        FOR EACH ROW EXECUTE FUNCTION fuzz_note()`),
  );
  return {
    after: (serial) =>
      onServer(url, async (client) => {
        const { rows } = await client.query<Record<keyof Change, string>>(`${READ} $1 ORDER BY serial`, [serial]);
        return rows.map(({ serial, operation, id, wish }) => ({
          serial: Number(serial),
          operation: operation as Change['operation'],
          id: Number(id),
          wish,
        }));
      }),
  };
}
