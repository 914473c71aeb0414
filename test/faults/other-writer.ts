/** A process that writes cookies without the resource kit; `other-writers.ts` starts it and sends commands. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { loadConfig } from '../../src/config/config.js';
import { Cookie } from '../../src/cookies/cookie.entity.js';
import { createDataSource } from '../../src/database/data-source.js';
import { openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import { sqliteCode } from '../../src/database/sqlite/sqlite-errors.js';
import { SETTINGS } from '../../src/features.js';
import { COOKIE, SECRET } from '../support/service.js';
import type { Command, Result } from './other-writers.js';

type Rows = readonly { readonly id: number }[];
type RunSql = (sql: string) => Promise<Rows>;

const [url] = process.argv.slice(2);
const config = loadConfig({ NODE_ENV: 'production', JWT_SECRET: SECRET, DATABASE_URL: url }, SETTINGS);
const dataSource = await (await createDataSource(config)).initialize();
const cookies = dataSource.getRepository(Cookie);

async function openDriver(): Promise<RunSql> {
  const { url: database } = config.database;
  if (database.engine === 'sqlite') {
    // It must not wait inside SQLite, because a transaction of the repository may hold the lock in this process.
    const file = openDatabase(database.path, { timeout: 0 });
    return (sql) =>
      untilUnlocked(() => (sql.includes('RETURNING') ? (file.prepare(sql).all() as Rows) : (file.exec(sql), [])));
  }
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return async (sql) => (await client.query<Rows[number]>(sql)).rows;
}

async function untilUnlocked<T>(run: () => T): Promise<T> {
  for (const deadline = Date.now() + 30_000; ; await sleep(2)) {
    try {
      return run();
    } catch (error) {
      if (sqliteCode(error) !== 'SQLITE_BUSY' || Date.now() > deadline) throw error;
    }
  }
}

const WAYS: Readonly<Record<Command['way'], (command: Command) => Promise<number | undefined>>> = {
  repository: async ({ kind, wish, id }) => {
    if (kind === 'insert') return (await cookies.insert({ ...COOKIE, wish })).identifiers[0]!['id'] as number;
    await (kind === 'update' ? cookies.update({ id }, { size: 'large' }) : cookies.delete({ id }));
    return undefined;
  },
  sql: bySql((sql) => dataSource.query(sql)),
  driver: bySql(await openDriver()),
};

function bySql(run: RunSql) {
  const { flavor, size } = COOKIE;
  return async ({ kind, wish, id }: Command): Promise<number | undefined> => {
    const statements = {
      insert: `INSERT INTO cookies (flavor, size, wish) VALUES ('${flavor}', '${size}', '${wish}') RETURNING id`,
      update: `UPDATE cookies SET size = 'large' WHERE id = ${id}`,
      delete: `DELETE FROM cookies WHERE id = ${id}`,
    };
    const row = (await run(statements[kind]))[0];
    // Without the service's parsers, `pg` returns a bigint as text.
    return row && Number(row.id);
  };
}

const send = (result: Result): boolean => process.send!(result);
process.on('message', (command: Command) => {
  const { number } = command;
  WAYS[command.way](command).then(
    (id) => send({ number, id }),
    (error: unknown) => send({ number, error: String(error) }),
  );
});
send({ number: 0 });
