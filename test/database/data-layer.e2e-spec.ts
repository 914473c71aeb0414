import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  Column,
  DataSource,
  Entity,
  type EntityManager,
  Like,
  PrimaryGeneratedColumn,
  QueryFailedError,
  TypeORMError,
} from 'typeorm';
import { type Database, openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import type { Environment } from '../../src/config/config.js';
import { DatabaseUnavailableError, DiskFullError } from '../../src/database/errors.js';
import { openSnapshot, type Snapshot } from '../../src/database/engine.js';
import { openDescriptors } from '../faults/process-figures.js';
import { openDataSource, warningsDuring } from '../support/data-source.js';
import { Client, COOKIE, type Service, startService, temporaryFolder } from '../support/service.js';

@Entity('notes')
class Note {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column('varchar', { unique: true })
  name!: string;
}

/** A module as a team would add it; it knows nothing of the data layer. */
@Module({ imports: [TypeOrmModule.forFeature([Note])] })
class NotesModule {}

const CREATE_NOTES = 'CREATE TABLE notes (id integer PRIMARY KEY AUTOINCREMENT NOT NULL, name varchar NOT NULL UNIQUE)';
const INSERT_NOTE = 'INSERT INTO notes (name) VALUES (?)';
/** A name that is already in the table, so inserting it violates the unique column. */
const TAKEN = 'taken';

/** Minimum turns of the event loop during a wait for a lock, even on a busy machine. A wait inside SQLite has none. */
const FEWEST_TURNS = 10;

const databaseOf = (dataSource: DataSource): Database =>
  (dataSource.driver as unknown as { databaseConnection: Database }).databaseConnection;

/** The committed names, read by a connection outside the data source. */
function committedNames(file: string): Set<string> {
  using database = openDatabase(file, { readonly: true });
  return new Set(database.prepare('SELECT name FROM notes').pluck().all() as string[]);
}

const errorOf = (work: Promise<unknown>): Promise<Error | undefined> =>
  work.then(() => undefined).catch((error: Error) => error);

/** Inserts `first`, lets others run, then inserts `second`, by an API of TypeORM. */
type Way = (dataSource: DataSource, first: string, second: string) => Promise<unknown>;

async function insertBoth(manager: EntityManager, first: string, second: string): Promise<void> {
  await manager.insert(Note, { name: first });
  await nextTurn();
  await manager.save(Note, { name: second });
}

const WAYS: Way[] = [
  (dataSource, first, second) => dataSource.getRepository(Note).save([{ name: first }, { name: second }]),
  (dataSource, first, second) => dataSource.getRepository(Note).insert([{ name: first }, { name: second }]),
  (dataSource, first, second) => {
    const values = [{ name: first }, { name: second }];
    return dataSource.createQueryBuilder().insert().into(Note).values(values).execute();
  },
  (dataSource, first, second) => dataSource.transaction((manager) => insertBoth(manager, first, second)),
  (dataSource, first, second) =>
    dataSource.transaction(async (manager) => {
      // A nested transaction that fails and is caught does not undo the outer one.
      const nested = manager.transaction(async (inner) => {
        await inner.insert(Note, { name: `doomed nested ${first}` });
        await nextTurn();
        throw new Error('changed my mind');
      });
      await expect(nested).rejects.toThrow('changed my mind');
      await manager.transaction((inner) => insertBoth(inner, first, second));
    }),
  async (dataSource, first, second) => {
    const runner = dataSource.createQueryRunner();
    try {
      await runner.startTransaction();
      await insertBoth(runner.manager, first, second);
      await runner.commitTransaction();
    } catch (error) {
      if (runner.isTransactionActive) await runner.rollbackTransaction();
      throw error;
    } finally {
      await runner.release();
    }
  },
  (dataSource, first, second) =>
    dataSource.query('INSERT INTO notes (name) VALUES (?), (?) RETURNING id', [first, second]),
];

interface Outcome {
  /** Operations that failed unexpectedly. */
  readonly unexpected: string[];
  /** Rows that are not committed although their operation succeeded. */
  readonly lost: string[];
  /** Rows that are committed although their operation failed. */
  readonly ghosts: string[];
  /** Rows that a reader saw although their transaction was rolled back. */
  readonly dirty: string[];
}

/** Runs concurrent operations; the second row of every tenth violates the unique column. */
async function stress(dataSource: DataSource, file: string, count: number): Promise<Outcome> {
  const unexpected: string[] = [];
  const done: string[] = [];
  const failed: string[] = [];
  const dirty = new Set<string>();
  let running = true;
  const reader = (async () => {
    while (running) {
      for (const { name } of await dataSource.getRepository(Note).findBy({ name: Like('doomed%') })) dirty.add(name);
      await nextTurn();
    }
  })();
  const operations = Array.from({ length: count }, async (_, index) => {
    const doomed = index % 10 === 0;
    const [first, second] = doomed ? [`doomed ${index}`, TAKEN] : [`first ${index}`, `second ${index}`];
    const error = await errorOf(WAYS[index % WAYS.length]!(dataSource, first, second));
    if (error === undefined) done.push(first, second);
    else failed.push(first, ...(doomed ? [] : [second]));
    if ((error !== undefined) !== doomed) unexpected.push(`${index}: ${String(error)}`);
  });
  await Promise.all(operations);
  running = false;
  await errorOf(reader);
  const committed = committedNames(file);
  return {
    unexpected,
    lost: done.filter((name) => !committed.has(name)),
    ghosts: [...failed, ...[...committed].filter((name) => name.startsWith('doomed nested'))].filter((name) =>
      committed.has(name),
    ),
    dirty: [...dirty],
  };
}

describe('the data layer, used by a module without special code for it', () => {
  let stop: () => Promise<void>;
  let dataSource: DataSource;
  let folder: string;
  let file: string;

  const prepare = async (): Promise<void> => {
    file = join(folder, 'cookies.sqlite');
    await dataSource.query(CREATE_NOTES);
    await dataSource.query(INSERT_NOTE, [TAKEN]);
  };

  /** Starts the service, for tests with HTTP. */
  const start = async (environment: Environment = {}): Promise<Service> => {
    const service = await startService(environment, [NotesModule]);
    folder = service.folder;
    stop = () => service.stop();
    dataSource = service.app.get(DataSource);
    await prepare();
    return service;
  };

  /** Opens the data source alone. */
  const open = async (environment: Environment = {}): Promise<void> => {
    folder = temporaryFolder();
    const opened = (dataSource = await openDataSource(environment, [Note], folder));
    stop = async () => void (opened.isInitialized && (await opened.destroy()));
    await prepare();
  };

  afterEach(() => stop());

  it('loses no acknowledged row, keeps no failed row and shows no uncommitted row in 500 concurrent operations', async () => {
    const client = Client.of(await start({ DATABASE_BUSY_TIMEOUT: '30000' }));
    const posts = Array.from({ length: 200 }, (_, index) => client.post({ ...COOKIE, wish: `wish ${index}` }));
    const outcome = await stress(dataSource, file, 500);
    expect(outcome).toEqual({ unexpected: [], lost: [], ghosts: [], dirty: [] });
    const answers = await Promise.all(posts);
    expect(answers.filter(({ status }) => status !== 201)).toEqual([]);
    const stored = (await client.get('/cookies')).body.map(({ wish }: { wish: string }) => wish);
    expect(new Set(stored).size).toBe(200);
  });

  describe('reading', () => {
    // The transaction stays open until the read has ended: a read that waited for it would fail after a second.
    it('does not wait for an open transaction, nor see its rows', async () => {
      await open({ DATABASE_BUSY_TIMEOUT: '1000' });
      const counts = async (): Promise<number[]> => [
        (await dataSource.getRepository(Note).find()).length,
        await dataSource.getRepository(Note).createQueryBuilder().comment('traced').getCount(),
        (await dataSource.query('SELECT name FROM notes')).length,
        (await dataSource.query('/* a */ -- b\n SELECT * FROM notes')).length,
        (await dataSource.query('WITH n AS (SELECT * FROM notes) SELECT * FROM n')).length,
      ];
      const runner = dataSource.createQueryRunner();
      await runner.startTransaction();
      await runner.manager.insert(Note, { name: 'uncommitted' });
      expect(await counts()).toEqual([1, 1, 1, 1, 1]);
      expect(await runner.manager.count(Note)).toBe(2);
      await runner.commitTransaction();
      await runner.release();
      expect(await counts()).toEqual([2, 2, 2, 2, 2]);
    });

    it('sees one state through a snapshot, from its opening to its closing', async () => {
      await open();
      const names = (snapshot: Snapshot) => snapshot.sql<object[]>`SELECT name FROM notes`;
      const snapshot = await openSnapshot(dataSource);
      await dataSource.query(INSERT_NOTE, ['after the opening']);
      expect(await names(snapshot)).toHaveLength(1);
      await dataSource.getRepository(Note).save({ name: 'between two reads' });
      expect(await names(snapshot)).toHaveLength(1);
      snapshot.close();
      snapshot.close();
      await expect(names(snapshot)).rejects.toThrow('has ended');
      using later = await openSnapshot(dataSource);
      expect(await names(later)).toHaveLength(3);
    });

    it('through a snapshot is a DatabaseUnavailableError if its connection cannot open the file', async () => {
      await open();
      renameSync(file, `${file}-moved`);
      await expect(openSnapshot(dataSource)).rejects.toBeInstanceOf(DatabaseUnavailableError);
      renameSync(`${file}-moved`, file);
      (await openSnapshot(dataSource)).close();
    });
  });

  describe('writing', () => {
    it('is on disk when it is acknowledged: full synchronisation, a write-ahead log, foreign keys enforced', async () => {
      await open();
      const writing = databaseOf(dataSource);
      expect(writing.pragma('synchronous', { simple: true })).toBe(2);
      expect(writing.pragma('journal_mode', { simple: true })).toBe('wal');
      expect(writing.pragma('foreign_keys', { simple: true })).toBe(1);
    });

    it('is logged when a statement takes longer than 200 ms, without its parameters', async () => {
      await open();
      databaseOf(dataSource).function('after', (milliseconds, name) => {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(milliseconds));
        return name;
      });
      const warnings = await warningsDuring(async () => {
        await dataSource.query('INSERT INTO notes (name) VALUES (after(0, ?))', ['quick']);
        await dataSource.query('INSERT INTO notes (name) VALUES (after(250, ?))', ['personal']);
      });
      const slow = /^A statement took \d{3,5} ms: INSERT INTO notes \(name\) VALUES \(after\(250, \?\)\)$/;
      expect(warnings).toEqual([expect.stringMatching(slow)]);
    });

    it('is logged when it is a transaction that its caller forgets, or releases without an end', async () => {
      await open({ DATABASE_TRANSACTION_TIMEOUT: '100' });
      const warnings = await warningsDuring(async () => {
        const forgotten = dataSource.createQueryRunner();
        await forgotten.startTransaction();
        await sleep(200);
        const released = dataSource.createQueryRunner();
        await released.startTransaction();
        await released.release();
      });
      expect(warnings).toEqual([
        'The transaction took longer than 100 ms and was rolled back',
        'A query runner was released inside an open transaction, which was rolled back',
      ]);
    });

    it('never fails with a stale snapshot when transactions of three writers read first and then write', async () => {
      const client = Client.of(await start());
      await using first = await openDataSource({}, [Note], folder);
      await using second = await openDataSource({}, [Note], folder);
      const { id } = (await client.post(COOKIE)).body;
      await dataSource.query(INSERT_NOTE, ['0']);
      const increments = [first, second].flatMap((source) => Array.from({ length: 60 }, () => increment(source)));
      const changes = Array.from({ length: 60 }, async (_, index) => {
        const body = { flavor: index % 2 === 0 ? 'chocolate' : 'cinnamon', size: 'large' };
        return (await client.request('PUT', `/cookies/${id}`, { body })).status;
      });
      await Promise.all(increments);
      expect(await dataSource.query('SELECT name FROM notes WHERE id = 2')).toEqual([{ name: '120' }]);
      expect(new Set(await Promise.all(changes))).toEqual(new Set([200]));
    });

    it('rolls back a hanging transaction, fails its later statements and its commit, and continues with the next', async () => {
      await open({ DATABASE_TRANSACTION_TIMEOUT: '200' });
      const runner = dataSource.createQueryRunner();
      await runner.startTransaction();
      await runner.manager.insert(Note, { name: 'hanging' });
      await dataSource.query(INSERT_NOTE, ['next']);
      expect(await errorOf(runner.manager.insert(Note, { name: 'late' }))).toBeInstanceOf(DatabaseUnavailableError);
      expect(await errorOf(runner.query('SELECT * FROM notes'))).toBeInstanceOf(DatabaseUnavailableError);
      expect(await errorOf(runner.commitTransaction())).toBeInstanceOf(DatabaseUnavailableError);
      await runner.rollbackTransaction();
      // The query runner can be used again.
      await runner.startTransaction();
      await runner.manager.insert(Note, { name: 'anew' });
      await runner.commitTransaction();
      await runner.release();
      expect(committedNames(file)).toEqual(new Set([TAKEN, 'next', 'anew']));
    });

    it('keeps nothing of a transaction that was rolled back by its time-out, even when a nested one fails afterwards', async () => {
      await open({ DATABASE_TRANSACTION_TIMEOUT: '100' });
      const error = await errorOf(
        dataSource.transaction(async (manager) => {
          await manager.insert(Note, { name: 'early' });
          await sleep(200);
          await errorOf(manager.transaction((inner) => inner.insert(Note, { name: 'nested' })));
          await errorOf(manager.insert(Note, { name: 'late' }));
        }),
      );
      expect(error).toBeInstanceOf(DatabaseUnavailableError);
      expect(error!.message).toBe('The transaction took longer than 100 ms and was rolled back');
      expect(committedNames(file)).toEqual(new Set([TAKEN]));
    });

    it('keeps nothing of a failed transaction, even of statements that were still in flight', async () => {
      await open();
      for (let delay = 0; delay < 60; delay++) {
        const error = await errorOf(
          dataSource.transaction((manager) => {
            const late = async (): Promise<unknown> => {
              for (let passed = 0; passed < delay; passed++) await Promise.resolve();
              return manager.insert(Note, { name: `late ${delay}` });
            };
            return Promise.all([manager.insert(Note, { name: TAKEN }), late()]);
          }),
        );
        expect(error).toBeInstanceOf(QueryFailedError);
      }
      await nextTurn();
      expect(committedNames(file)).toEqual(new Set([TAKEN]));
    });

    it('gives the slot to the next writer when a query runner is released while it waits for the slot', async () => {
      await open({ DATABASE_BUSY_TIMEOUT: '1000' });
      const [first, second] = [dataSource.createQueryRunner(), dataSource.createQueryRunner()];
      await first.startTransaction();
      const waiting = errorOf(second.startTransaction());
      await second.release();
      await first.commitTransaction();
      await first.release();
      expect(await waiting).toBeInstanceOf(Error);
      await dataSource.query(INSERT_NOTE, ['next']);
      expect(committedNames(file)).toEqual(new Set([TAKEN, 'next']));
    });

    it('rejects transaction control without a query runner, and keeps the rows that are acknowledged after it', async () => {
      await open();
      const repository = dataSource.getRepository(Note);
      const begins = ['BEGIN', 'begin immediate;', '/* traced */ BEGIN', '-- traced\nBEGIN IMMEDIATE', '; BEGIN'];
      for (const sql of [...begins, 'START TRANSACTION', 'SAVEPOINT a', 'COMMIT', 'ROLLBACK']) {
        for (const query of [dataSource.query(sql), dataSource.manager.query(sql), repository.query(sql)]) {
          await expect(query).rejects.toThrow('dataSource.transaction');
        }
      }
      await dataSource.query(INSERT_NOTE, ['next']);
      await dataSource.transaction((manager) => manager.insert(Note, { name: 'and next' }));
      expect(committedNames(file)).toEqual(new Set([TAKEN, 'next', 'and next']));
    });

    const SEVERAL = [
      "BEGIN; INSERT INTO notes (name) VALUES ('lost'); COMMIT",
      "ROLLBACK; INSERT INTO notes (name) VALUES ('lost')",
      'COMMIT; DELETE FROM notes',
      '/* traced */ END; DELETE FROM notes;',
      "INSERT INTO notes (name) VALUES ('one'); INSERT INTO notes (name) VALUES ('two')",
      'SELECT 1; DELETE FROM notes',
      'PRAGMA optimize; DELETE FROM notes',
      'BEGIN; BEGIN',
    ];

    it('rejects several statements in one string, and runs none of them', async () => {
      await open();
      for (const sql of SEVERAL) {
        const runner = dataSource.createQueryRunner();
        await expect(dataSource.query(sql)).rejects.toThrow(/more than one statement|its own query runner/);
        await expect(runner.query(sql)).rejects.toThrow('more than one statement');
        await runner.startTransaction();
        await runner.query(INSERT_NOTE, [sql]);
        const error = await errorOf(runner.query(sql));
        expect(error).toBeInstanceOf(TypeORMError);
        expect(error!.message).toContain('more than one statement');
        await runner.commitTransaction();
        await runner.release();
      }
      expect(committedNames(file)).toEqual(new Set([TAKEN, ...SEVERAL]));
    });

    it('accepts a semicolon that separates nothing: in strings, names, comments and triggers, and at the end', async () => {
      await open();
      for (const sql of [
        "INSERT INTO notes (name) VALUES ('a; b'); ; -- c; d",
        'INSERT INTO notes /* e; f */ ("name") VALUES (\'g\') ; /* h; */',
        'CREATE TABLE "odd; name" ([a;b] text);',
        `CREATE TRIGGER again AFTER INSERT ON "odd; name" BEGIN
           INSERT INTO notes (name) VALUES (new.[a;b]); INSERT INTO notes (name) VALUES ('by trigger'); END;`,
        `INSERT INTO "odd; name" VALUES ('i;j')`,
      ]) {
        await dataSource.query(sql);
      }
      const runner = dataSource.createQueryRunner();
      await runner.query('BEGIN; -- traced; by a tool');
      await runner.query(INSERT_NOTE, ['in a transaction']);
      await runner.query('COMMIT ; ');
      await runner.release();
      expect(committedNames(file)).toEqual(new Set([TAKEN, 'a; b', 'g', 'i;j', 'by trigger', 'in a transaction']));
    });

    it('rejects a PRAGMA that would change the writing connection for all callers', async () => {
      await open();
      const settings = () =>
        ['foreign_keys', 'ignore_check_constraints', 'synchronous', 'journal_mode'].map((name) =>
          databaseOf(dataSource).pragma(name, { simple: true }),
        );
      const before = settings();
      for (const sql of [
        'PRAGMA foreign_keys = OFF',
        'pragma main."foreign_keys"(0)',
        '/* traced */ PRAGMA foreign_keys=no',
        'PRAGMA ignore_check_constraints = ON',
        'PRAGMA synchronous = OFF',
        'PRAGMA journal_mode = DELETE',
      ]) {
        await expect(dataSource.query(sql)).rejects.toThrow('for every caller');
        const inside = dataSource.transaction((manager) => manager.query(sql));
        await expect(inside).rejects.toThrow('for every caller');
      }
      expect(settings()).toEqual(before);
      await expect(dataSource.query('PRAGMA defer_foreign_keys = ON')).rejects.toThrow('inside a transaction');
      // A pragma that only reads is allowed.
      await dataSource.query('PRAGMA journal_mode');
    });

    it('closes the file, although a transaction hangs for longer than a writer would wait', async () => {
      await open({ DATABASE_BUSY_TIMEOUT: '100', DATABASE_TRANSACTION_TIMEOUT: '500' });
      const writing = databaseOf(dataSource);
      const runner = dataSource.createQueryRunner();
      await runner.startTransaction();
      await runner.manager.insert(Note, { name: 'hanging' });
      await dataSource.destroy();
      expect(writing.open).toBe(false);
      expect(openDescriptors(process.pid, [file])).toBe(openDescriptors(process.pid));
      expect(committedNames(file)).toEqual(new Set([TAKEN]));
    });
  });

  describe('on a full database', () => {
    const LONG = 'x'.repeat(3000);
    const MANY = Array.from({ length: 20 }, (_, row) => ({ name: LONG + row }));

    /** The connection's own limit makes the same error as a full volume, SQLITE_FULL. */
    const setRoom = async (pages: number | undefined): Promise<void> => {
      const database = databaseOf(dataSource);
      const used = database.pragma('page_count', { simple: true }) as number;
      database.pragma(`max_page_count = ${pages === undefined ? 4294967294 : used + pages}`);
      // For 100 ms after a full volume only deletes are written.
      if (pages === undefined) await sleep(150);
    };

    it.each<[string, (manager: EntityManager) => Promise<unknown>]>([
      // SQLite itself undoes only such a statement, not the transaction (sqlite3VdbeHalt of its vdbeaux.c).
      ['many rows at once, whose failure is swallowed', (manager) => errorOf(manager.insert(Note, MANY))],
      [
        'in a nested transaction whose failure is swallowed',
        async (manager) => {
          for (let row = 0; row < 20; row++) {
            await errorOf(manager.transaction((inner) => inner.insert(Note, { name: LONG + row })));
          }
        },
      ],
    ])('reports the transaction as failed and leaves nothing half-open: %s', async (_how, fill) => {
      await open();
      await setRoom(5);
      const filling = dataSource.transaction(async (manager) => {
        await manager.insert(Note, { name: 'first' });
        await fill(manager);
      });
      expect(await errorOf(filling)).toBeInstanceOf(DiskFullError);
      expect(databaseOf(dataSource).inTransaction).toBe(false);
      expect(committedNames(file)).toEqual(new Set([TAKEN]));
      await setRoom(undefined);
      await dataSource.transaction((manager) => manager.insert(Note, { name: LONG }));
      await dataSource.getRepository(Note).save({ name: 'and next' });
      expect(committedNames(file)).toEqual(new Set([TAKEN, LONG, 'and next']));
    });
  });

  describe('while another process holds the lock', () => {
    let other: Database;

    const lock = (): void => {
      other = openDatabase(file);
      other.exec('BEGIN IMMEDIATE');
    };

    afterEach(() => other.close());

    it('keeps the event loop going, and writes when the lock is freed', async () => {
      const client = Client.of(await start({ DATABASE_BUSY_TIMEOUT: '10000' }));
      // The first requests take longer; the test measures the wait only.
      await client.post(COOKIE);
      await dataSource.getRepository(Note).save({ name: 'warm' });
      lock();
      const turns = new Turns();
      const posted = client.post(COOKIE);
      const saved = dataSource.getRepository(Note).save({ name: 'waiting' });
      const read = await client.get('/cookies/1');
      await sleep(700);
      expect(committedNames(file)).toEqual(new Set([TAKEN, 'warm']));
      other.exec('ROLLBACK');
      expect((await posted).status).toBe(201);
      expect((await saved).id).toBeGreaterThan(0);
      expect(turns.end()).toBeGreaterThan(FEWEST_TURNS);
      expect(read.status).toBe(200);
    });

    it('gives up after DATABASE_BUSY_TIMEOUT: 503 with Retry-After, nothing written, nothing stuck', async () => {
      const client = Client.of(await start({ DATABASE_BUSY_TIMEOUT: '400' }));
      await client.post(COOKIE);
      lock();
      const turns = new Turns();
      const began = performance.now();
      const posts = [client.post(COOKIE), client.post(COOKIE)];
      const writes = [
        dataSource.query(INSERT_NOTE, ['refused']),
        dataSource.getRepository(Note).save({ name: 'refused' }),
        dataSource.transaction((manager) => manager.insert(Note, { name: 'refused' })),
      ];
      const failures = await Promise.all(writes.map(errorOf));
      expect(failures.filter((error) => !(error instanceof DatabaseUnavailableError))).toEqual([]);
      expect(String(failures)).not.toMatch(/No slot to write/);
      for (const answer of await Promise.all(posts)) {
        expect(answer.status).toBe(503);
        expect(answer.headers.get('retry-after')).toMatch(/^[1-9][0-9]*$/);
      }
      const waited = performance.now() - began;
      expect(waited).toBeGreaterThanOrEqual(400);
      expect(waited).toBeLessThan(3000);
      expect(turns.end()).toBeGreaterThan(FEWEST_TURNS);
      other.exec('ROLLBACK');
      expect((await client.post(COOKIE)).status).toBe(201);
      expect((await client.get('/cookies')).body).toHaveLength(2);
      expect(committedNames(file)).toEqual(new Set([TAKEN]));
    });
  });
});

/** Counts turns of the event loop: about 1000 a second if nothing else runs. */
class Turns {
  private count = 0;
  private readonly timer = setInterval(() => this.count++, 1);

  end(): number {
    clearInterval(this.timer);
    return this.count;
  }
}

/** Reads a number, lets others run, and writes its successor. */
function increment(dataSource: DataSource): Promise<void> {
  return dataSource.transaction(async (manager) => {
    const note = await manager.findOneByOrFail(Note, { id: 2 });
    await sleep(1);
    note.name = String(Number(note.name) + 1);
    await manager.save(note);
  });
}
