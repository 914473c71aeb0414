import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { DataSource, type QueryRunner } from 'typeorm';
import { CookiesService } from '../../src/cookies/cookies.service.js';
import { DiskFullError, OutcomeUnknownError } from '../../src/database/errors.js';
import type { Database } from '../../src/database/sqlite/better-sqlite3.js';
import { transaction } from '../../src/database/engine.js';
import { openDataSource } from '../support/data-source.js';
import { COOKIE, startService, temporaryFolder } from '../support/service.js';

/** The number of inserts in each commit while `work` runs. */
async function batchSizesDuring({ driver }: DataSource, work: () => Promise<unknown>): Promise<number[]> {
  const { writing } = driver as unknown as { writing: { run(sql: string): unknown } };
  using run = jest.spyOn(writing, 'run');
  await work();
  const sizes: number[] = [];
  let size = 0;
  for (const [sql] of run.mock.calls) {
    if (sql.startsWith('INSERT')) size++;
    if (sql !== 'COMMIT') continue;
    sizes.push(size);
    size = 0;
  }
  return sizes;
}

/** The outcomes of concurrent writes. */
const outcomes = async (writes: Promise<unknown>[]): Promise<string[]> =>
  (await Promise.allSettled(writes)).map(({ status }) => status);

describe('writes that wait together', () => {
  let folder: string;
  let dataSource: DataSource;

  beforeEach(async () => {
    folder = temporaryFolder();
    dataSource = await openDataSource({}, [], folder);
    await dataSource.query('CREATE TABLE notes (name TEXT UNIQUE)');
  });

  afterEach(() => dataSource.destroy());

  const connection = () => (dataSource.driver as unknown as { databaseConnection: Database }).databaseConnection;
  const insert = (name: string) => dataSource.query('INSERT INTO notes VALUES (?)', [name]);
  const insertInTransaction = (name: string) =>
    dataSource.transaction((manager) => manager.query('INSERT INTO notes VALUES (?)', [name]));
  const names = async () =>
    (await dataSource.query<{ name: string }[]>('SELECT name FROM notes')).map(({ name }) => name).sort();

  it('share a commit as statements and as transactions, and have separate results', async () => {
    await insert('taken');
    // Its name is no ON CONFLICT ROLLBACK.
    await dataSource.query('CREATE TABLE deployments (rollback_of INTEGER)');
    const attempts = Array.from({ length: 60 }, (_, index) => (index % 3 === 0 ? 'taken' : `note ${index}`));
    let seen: string[] = [];
    const { length: commits } = await batchSizesDuring(dataSource, async () => {
      seen = await outcomes(
        attempts.map((name, index) => (index % 2 === 0 ? insert(name) : insertInTransaction(name))),
      );
    });
    expect(seen).toEqual(attempts.map((name) => (name === 'taken' ? 'rejected' : 'fulfilled')));
    expect(await names()).toEqual(['taken', ...attempts.filter((name) => name !== 'taken')].sort());
    // Two or three on an idle machine, 40 if each had its own.
    expect(commits).toBeLessThan(20);
  });

  it('are undone completely by a rollback, also those before a savepoint', async () => {
    const rejected = dataSource.transaction(async (manager) => {
      await manager.query("INSERT INTO notes VALUES ('before')");
      await manager.query('SAVEPOINT job');
      throw new Error('changed my mind');
    });
    expect(await outcomes([insert('first'), rejected])).toEqual(['fulfilled', 'rejected']);
    expect(await names()).toEqual(['first']);
  });

  it('all fail with one reason when SQLite undoes them because one finds no space', async () => {
    await insert('stored');
    connection().pragma('max_page_count = 1');
    // The writes run in this order, and the last one is too large.
    const writes = [
      insert('one'),
      insertInTransaction('two'),
      dataSource.query('INSERT INTO notes VALUES (zeroblob(100000))'),
    ];
    const settled = await Promise.allSettled(writes);
    const errors = settled.map((outcome) => (outcome.status === 'rejected' ? (outcome.reason as Error).name : 'none'));
    expect(errors).toEqual(Array(3).fill(DiskFullError.name));
    expect(await names()).toEqual(['stored']);
  });

  describe('are rejected on rows of others that the group commit then fails to store', () => {
    const OWN_REASON = 'my own reason';

    /** Finds the row that waits for its commit, makes that commit fail, and rejects because of the row. */
    const rejectOn = async (query: (sql: string) => Promise<unknown[]>): Promise<void> => {
      expect(await query("SELECT name FROM notes WHERE name = 'pending'")).toHaveLength(1);
      rmSync(join(folder, 'cookies.sqlite-wal'));
      throw new Error(OWN_REASON);
    };

    const inRunner = async (finish: (runner: QueryRunner) => Promise<void>): Promise<void> => {
      const runner = dataSource.createQueryRunner();
      await runner.startTransaction();
      await expect(rejectOn((sql) => runner.query(sql))).rejects.toThrow(OWN_REASON);
      await finish(runner);
    };

    it.each<[how: string, reject: () => Promise<unknown>]>([
      ['a transaction of TypeORM', () => dataSource.transaction((manager) => rejectOn((sql) => manager.query(sql)))],
      ['a lean transaction', () => transaction(dataSource, (tx) => rejectOn((sql) => tx.query(sql, [])))],
      [
        'a query runner that rolls back, and is out of its transaction then',
        () =>
          inRunner((runner) =>
            runner.rollbackTransaction().finally(() => expect(runner.isTransactionActive).toBe(false)),
          ),
      ],
      ['a query runner that sends ROLLBACK', () => inRunner((runner) => runner.query('ROLLBACK'))],
      ['a query runner that is released', () => inRunner((runner) => runner.release())],
    ])('and are told the failure of the commit: %s', async (_how, reject) => {
      // Concurrent writes after a commit share the next one, unless they take 20 ms by this clock.
      await insert('stored');
      const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now());
      const writes = [insert('pending'), insert('pending'), insertInTransaction('pending'), reject()];
      const settled = await Promise.allSettled(writes).finally(() => clock.mockRestore());
      const errors = settled.map((outcome) => (outcome.status === 'rejected' ? (outcome.reason as Error) : undefined));
      expect(errors.map((error) => error?.name)).toEqual(Array(4).fill(OutcomeUnknownError.name));
    });
  });

  it.each([
    ['a conflict clause', 'CREATE TABLE strict (name TEXT UNIQUE ON CONFLICT ROLLBACK)'],
    [
      'a trigger',
      `CREATE TABLE strict (name TEXT);
       CREATE TRIGGER no_second BEFORE INSERT ON strict WHEN EXISTS (SELECT 1 FROM strict WHERE name = new.name)
       BEGIN SELECT RAISE(ROLLBACK, 'taken'); END`,
    ],
  ])('are not undone by a transaction that rolls back by %s', async (_what, schema) => {
    connection().exec(schema);
    const strict = (name: string) =>
      dataSource.transaction((manager) => manager.query('INSERT INTO strict VALUES (?)', [name]));
    const writes = [insert('one'), strict('a'), insertInTransaction('two'), strict('a'), insert('three')];
    expect(await outcomes(writes)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(await names()).toEqual(['one', 'three', 'two']);
  });

  it.each(['ROLLBACK', 'FAIL'])('are not undone by OR %s, which is rejected', async (conflict) => {
    await insert('taken');
    const sql = `INSERT OR ${conflict} INTO notes VALUES ('new'), ('taken')`;
    const inside = dataSource.transaction((manager) => manager.query(sql));
    const writes = [insert('one'), dataSource.query(sql), insert('two'), inside, insert('three')];
    expect(await outcomes(writes)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled']);
    await expect(inside).rejects.toThrow('use OR ABORT');
    await dataSource.query("INSERT INTO notes VALUES ('dead or rollback')");
    expect(await names()).toEqual(['dead or rollback', 'one', 'taken', 'three', 'two']);
  });

  it.each([
    ['declared so', 'REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED', ''],
    ['deferred by a pragma', 'REFERENCES parents (id)', 'PRAGMA defer_foreign_keys = ON'],
  ])('are not failed by a foreign key that is checked at the commit, %s', async (_what, reference, pragma) => {
    await dataSource.query('CREATE TABLE parents (id INTEGER PRIMARY KEY)');
    await dataSource.query(`CREATE TABLE children (parent INTEGER ${reference})`);
    const child = (parent: number, adopt: boolean) =>
      dataSource.transaction(async (manager) => {
        if (pragma) await manager.query(pragma);
        await manager.query('INSERT INTO children VALUES (?)', [parent]);
        if (adopt) await manager.query('INSERT INTO parents VALUES (?)', [parent]);
      });
    const writes = [insert('one'), child(1, true), insert('two'), child(2, false), insert('three')];
    expect(await outcomes(writes)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(await names()).toEqual(['one', 'three', 'two']);
    expect(await dataSource.query('SELECT parent FROM children')).toEqual([{ parent: 1 }]);
  });

  it('are not failed by the foreign key of a statement after a transaction that deferred its own, and failed', async () => {
    await dataSource.query('CREATE TABLE children (parent INTEGER REFERENCES notes (name))');
    const before = outcomes([insert('one')]);
    let after: Promise<string[]> | undefined;
    const deferring = dataSource.transaction(async (manager) => {
      await manager.query('PRAGMA defer_foreign_keys = ON');
      after = outcomes([insert('two'), dataSource.query('INSERT INTO children VALUES (9)'), insert('three')]);
      throw new Error('another reason');
    });
    await expect(deferring).rejects.toThrow('another reason');
    expect([await before, await after]).toEqual([['fulfilled'], ['fulfilled', 'rejected', 'fulfilled']]);
    expect(await names()).toEqual(['one', 'three', 'two']);
  });

  it('are stored beside statements that cannot run in a transaction', async () => {
    const writes = [
      insert('one'),
      dataSource.query('VACUUM'),
      insertInTransaction('two'),
      dataSource.query('PRAGMA optimize'),
    ];
    expect(await outcomes(writes)).toEqual(Array(4).fill('fulfilled'));
    expect(await names()).toEqual(['one', 'two']);
  });

  /** As requests on new connections do: Node accepts one of them in each turn of the event loop. */
  it('share a commit when each comes one turn of the event loop after the other', async () => {
    const writes: Promise<unknown>[] = [];
    const sizes = await batchSizesDuring(dataSource, async () => {
      for (const name of ['one', 'two', 'three', 'four', 'five', 'six']) {
        writes.push(name.length === 3 ? insert(name) : insertInTransaction(name));
        await turn();
      }
      await Promise.all(writes);
    });
    // On a busy machine, six turns may take more than the 20 ms of a batch.
    expect(sizes.length).toBeLessThan(3);
  });

  it('may be two thousand, of which at most 500 share a commit', async () => {
    // Time stands still, because a slow machine makes fewer than 500 writes in 20 ms.
    const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now());
    const writes = () => Promise.all(Array.from({ length: 2000 }, (_, index) => insert(`note ${index}`)));
    const sizes = await batchSizesDuring(dataSource, writes).finally(() => clock.mockRestore());
    expect(await names()).toHaveLength(2000);
    expect(Math.max(...sizes)).toBe(500);
  });

  it('share a commit for 20 ms, so that the first writes do not wait for all later ones', async () => {
    connection().function('slowly', (name) => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
      return name;
    });
    const settled: number[] = [];
    const began = performance.now();
    await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        await dataSource.transaction((manager) =>
          manager.query('INSERT INTO notes VALUES (slowly(?))', [`note ${index}`]),
        );
        settled.push(performance.now() - began);
      }),
    );
    expect(Math.max(...settled)).toBeGreaterThan(60 * 5);
    expect(Math.min(...settled)).toBeLessThan(Math.max(...settled) / 3);
  });

  it('are acknowledged and stored when the file is closed meanwhile, and rejected after that', async () => {
    const runner = dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.query("INSERT INTO notes VALUES ('begun')");
    const waiting = [insert('waiting'), insert('waiting as well')];
    const closing = dataSource.destroy();
    await turn();
    const late = insert('late');
    const committing = runner.commitTransaction();
    const seen = await outcomes([committing, ...waiting, closing, late]);
    await dataSource.initialize();
    expect(seen).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'fulfilled', 'rejected']);
    await expect(late).rejects.toThrow('The database is closing');
    expect(await names()).toEqual(['begun', 'waiting', 'waiting as well']);
  });
});

describe('creates of cookies', () => {
  it('share a statement and a commit when each comes one turn of the event loop after the other', async () => {
    await using service = await startService();
    const { records } = service.app.get(CookiesService, { strict: false });
    const creates: Promise<unknown>[] = [];
    const sizes = await batchSizesDuring(service.app.get(DataSource), async () => {
      for (let count = 0; count < 6; count++) {
        creates.push(records.create({ ...COOKIE }));
        await turn();
      }
      await Promise.all(creates);
    });
    // One INSERT for all of them, or for some if six turns take more than 20 ms.
    expect(sizes.length).toBeLessThan(6);
  });
});
