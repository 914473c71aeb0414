import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { QueryConfig } from 'pg';
import { type DataSource, EntitySchema } from 'typeorm';
import { openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import { migrate, pendingMigrations, unreadableEntities } from '../../src/database/schema/migrations.js';
import { openDataSource } from '../support/data-source.js';
import { migrationOf } from '../support/migration-of.js';
import { until } from '../support/until.js';
import { databaseUrlFor, engineInUse, provideDatabase } from '../support/engine.js';
import { onServer, setDefault } from '../support/postgres/postgres-server.js';
import { Client, COOKIE, startService, temporaryFolder } from '../support/service.js';

const MIGRATION = 'CreateCookiesAndStorage1790000000000';
const INSERT = 'INSERT INTO cookies (flavor, size, wish, revision) VALUES ($1, $2, $3, $4)';
const NOT_NULL = /not.null/i;

const startError = (message: string | RegExp) => ({
  name: 'DatabaseStartError',
  message: expect.stringMatching(message) as string,
});

/** Queries for the schema as the engine describes it, and for the names of the tables. */
const SCHEMA =
  engineInUse() === 'sqlite'
    ? {
        all: 'SELECT name, sql FROM sqlite_schema ORDER BY name',
        names: `SELECT name FROM sqlite_schema WHERE type = 'table'`,
      }
    : {
        all: `SELECT table_name, column_name, data_type, is_identity, is_nullable, collation_name
              FROM information_schema.columns WHERE table_schema = 'public' ORDER BY table_name, column_name`,
        names: `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`,
      };

/** Runs one statement without the service, as another program does. */
async function asOtherWriter(folder: string, sql: string, parameters: readonly unknown[]): Promise<unknown> {
  if (engineInUse() === 'postgres') {
    return onServer(databaseUrlFor(folder), (client) => client.query(sql, [...parameters]));
  }
  using other = openDatabase(join(folder, 'cookies.sqlite'));
  return other.prepare(sql.replace(/\$\d/g, '?')).run(...parameters);
}

describe('migrations', () => {
  let folder: string;

  beforeEach(async () => {
    folder = temporaryFolder();
    await provideDatabase(folder);
  });

  describe('on a data source', () => {
    let dataSource: DataSource;

    beforeEach(async () => {
      dataSource = await openDataSource({}, [], folder);
    });

    afterEach(() => dataSource.destroy());

    const tables = async (): Promise<string[]> => {
      const rows: { name: string }[] = await dataSource.query(SCHEMA.names);
      return rows
        .map(({ name }) => name)
        .filter((name) => ['cookies', 'storage'].includes(name))
        .sort();
    };

    it('run, can be reverted, and run again', async () => {
      expect(await pendingMigrations(dataSource)).toContain(MIGRATION);
      const names = await migrate(dataSource);
      expect(names[0]).toBe(MIGRATION);
      expect(await tables()).toEqual(['cookies', 'storage']);
      const schema = () => dataSource.query(SCHEMA.all);
      const before = await schema();
      for (const _ of names) await dataSource.undoLastMigration();
      expect(await tables()).toEqual([]);
      expect(await migrate(dataSource)).toEqual(names);
      expect(await schema()).toEqual(before);
      expect(await migrate(dataSource)).toEqual([]);
    });

    it('make old ETags invalid when they have run, and when they are reverted', async () => {
      await using service = await startService({ DATABASE_URL: databaseUrlFor(folder) });
      const client = Client.of(service);
      const path = (await client.post(COOKIE)).headers.get('location')!;
      const etag = async (): Promise<string> => (await client.get(path)).headers.get('etag')!;
      const known = [await etag()];
      expect(await migrate(dataSource)).toEqual([]);
      expect(await etag()).toBe(known[0]);
      dataSource.migrations.push(migrationOf('Changing9000000000000', () => Promise.resolve()));
      for (const change of [() => migrate(dataSource), () => dataSource.undoLastMigration()]) {
        await change();
        const headers = { 'if-none-match': known.join(', ') };
        expect((await client.get(path, headers)).status).toBe(200);
        known.push(await etag());
      }
      expect(new Set(known).size).toBe(3);
    });

    it('run without a transaction if they say so, and old ETags become invalid although a later one fails', async () => {
      const how = engineInUse() === 'postgres' ? 'CONCURRENTLY' : '';
      const indexing = migrationOf('Indexing9000000000000', (runner) =>
        runner.query(`CREATE INDEX ${how} later ON cookies (wish)`),
      );
      const failing = migrationOf('Failing9000000000001', (runner) => runner.query('SELECT * FROM absent'));
      await migrate(dataSource);
      const epoch = async () => (await dataSource.query('SELECT epoch FROM storage')) as unknown;
      const before = await epoch();
      dataSource.migrations.push({ ...indexing, transaction: false }, failing);
      await expect(dataSource.runMigrations({ transaction: 'each' })).rejects.toThrow('absent');
      expect(await pendingMigrations(dataSource)).toEqual(['Failing9000000000001']);
      expect(await epoch()).not.toEqual(before);
    });

    it('wait for the one process that runs them, and then have nothing to do', async () => {
      await using other = await openDataSource({}, [], folder);
      let runs = 0;
      let finish = (): void => {};
      const finished = new Promise<void>((resolve) => (finish = resolve));
      const slow = migrationOf('Slow9000000000000', () => {
        runs++;
        return finished;
      });
      try {
        for (const each of [dataSource, other]) each.migrations.push(slow);
        const first = migrate(dataSource);
        await until(() => runs === 1, 'the first migrates');
        let isOver = false;
        const second = migrate(other).finally(() => (isOver = true));
        second.catch(() => {});
        await sleep(300);
        expect({ isOver, runs }).toEqual({ isOver: false, runs: 1 });
        finish();
        expect((await first).at(-1)).toBe('Slow9000000000000');
        expect(await second).toEqual([]);
        expect(runs).toBe(1);
      } finally {
        finish();
      }
    });

    it('need not change a table of the service for an entity with its name, because that entity is rejected', async () => {
      await migrate(dataSource);
      const rows: { name: string }[] = await dataSource.query(SCHEMA.names);
      const own = rows.map(({ name }) => name).filter((name) => name !== 'cookies' && !name.startsWith('sqlite_'));
      expect(own).toEqual(expect.arrayContaining(['audit', 'leases', 'migrations', 'storage']));
      for (const tableName of own) {
        const columns = { id: { type: Number, primary: true } } as const;
        const entity = new EntitySchema({ name: 'Lease', tableName, columns });
        await expect(openDataSource({}, [entity as never], folder)).rejects.toMatchObject(startError(`"${tableName}"`));
      }
    });

    it('are reported as missing when an entity has a column that the database lacks', async () => {
      await migrate(dataSource);
      expect(await unreadableEntities(dataSource)).toEqual([]);
      await dataSource.query('ALTER TABLE cookies RENAME COLUMN wish TO hope');
      expect(await unreadableEntities(dataSource)).toEqual([
        expect.stringMatching(/^the entity Cookie cannot be read \(.*wish.*\): write a migration/),
      ]);
      using warnings = jest.spyOn(Logger.prototype, 'warn');
      await (await startService({ DATABASE_URL: databaseUrlFor(folder) })).stop();
      expect(warnings.mock.calls).toContainEqual([
        expect.stringMatching(/^At start, the entity Cookie cannot be read/),
      ]);
    });

    if (engineInUse() === 'postgres') {
      it.each(['all', 'each'] as const)('let requests pass while they wait for a list, in mode %s', async (mode) => {
        const longer = migrationOf('Longer9000000000000', (runner) =>
          runner.query('ALTER TABLE cookies ADD COLUMN note varchar'),
        );
        await migrate(dataSource);
        dataSource.migrations.push(longer);
        const url = databaseUrlFor(folder);
        await onServer(url, async (list) => {
          await list.query('BEGIN; SELECT FROM cookies');
          const done = dataSource.runMigrations({ transaction: mode });
          done.catch(() => undefined);
          for (let request = 0; request < 3; request++) {
            await sleep(500);
            // The limit is shorter than the migration waits for the list.
            await onServer(url, (client) =>
              client.query({ text: 'SELECT FROM cookies', query_timeout: 10_000 } as QueryConfig),
            );
          }
          await list.query('COMMIT');
          expect(await done).toMatchObject([{ name: 'Longer9000000000000' }]);
        });
      });
    }

    if (engineInUse() === 'postgres') {
      it('run longer than the transaction_timeout of the database (PostgreSQL 17)', async () => {
        const [known] = await dataSource.query<object[]>(`SELECT FROM pg_settings WHERE name = 'transaction_timeout'`);
        if (known === undefined) return;
        await setDefault(databaseUrlFor(folder), 'transaction_timeout = 200');
        // The time-out counts in sessions that begin later.
        await using later = await openDataSource({}, [], folder);
        later.migrations.push(migrationOf('Slow9000000000000', (runner) => runner.query('SELECT pg_sleep(0.5)')));
        expect(await migrate(later)).toContain('Slow9000000000000');
      });

      it('wait for those of another process, which may pause for ten minutes, with a line in the log', async () => {
        await using other = await openDataSource({ DATABASE_BUSY_TIMEOUT: '100' }, [], folder);
        using warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
        let pause: unknown;
        let waiting: Promise<string[]> | undefined;
        const slow = migrationOf('Slow9000000000000', async (runner) => {
          [pause] = await runner.query('SHOW idle_in_transaction_session_timeout');
          waiting = migrate(other);
          const isLogged = () => warn.mock.calls.flat().join().includes('A migration waits for another one');
          await until(isLogged, () => 'the log has the line');
        });
        dataSource.migrations.push(slow);
        expect(await migrate(dataSource)).toContain('Slow9000000000000');
        expect(pause).toEqual({ idle_in_transaction_session_timeout: '10min' });
        expect(await waiting).toEqual([]);
      });

      it('name the value of two rows when they violate a new unique constraint', async () => {
        await migrate(dataSource);
        const jars = 'CREATE TABLE jars (label varchar); INSERT INTO jars VALUES (1), (2), (2)';
        const unique = migrationOf('Unique9000000000000', async (runner) => {
          await runner.query(jars);
          await runner.query('ALTER TABLE jars ADD UNIQUE (label)');
        });
        dataSource.migrations.push(unique);
        await expect(migrate(dataSource)).rejects.toThrow('Key (label)=(2) is duplicated');
      });
    }

    it('leave nothing behind when one of them fails', async () => {
      await dataSource.query('CREATE TABLE cookies (id integer)');
      const failed = /^A migration failed.*already exists.*The statement was: CREATE TABLE "cookies"/s;
      await expect(migrate(dataSource)).rejects.toMatchObject(startError(failed));
      expect(await tables()).toEqual(['cookies']);
      expect(await pendingMigrations(dataSource)).toContain(MIGRATION);
    });

    it('keep other writers of the database from storing what a constraint excludes', async () => {
      await migrate(dataSource);
      for (const [sql, parameters, guard] of [
        [INSERT, ['Vanilla', 'small', 'w', 1], 'cookies_flavor'],
        [INSERT, ['vanilla', 'tiny', 'w', 1], 'cookies_size'],
        [INSERT, ['vanilla', 'small', '', 1], 'cookies_wish'],
        [INSERT, ['vanilla', 'small', '🍪'.repeat(256), 1], 'cookies_wish'],
        [INSERT, ['vanilla', 'small', null, 1], NOT_NULL],
        [INSERT, ['vanilla', 'small', 'w', null], NOT_NULL],
        ["UPDATE storage SET used = $1 WHERE resource = 'cookies'", [-1], 'storage_used'],
        ["UPDATE storage SET used = $1 WHERE resource = 'cookies'", [null], NOT_NULL],
        ["UPDATE storage SET epoch = $1 WHERE resource = 'cookies'", [null], NOT_NULL],
        [`INSERT INTO storage (resource, epoch, revision, used) VALUES ('cookies', $1, 0, 0)`, ['e'], /unique/i],
      ] as const) {
        // Not `toThrow`: better-sqlite3 may throw an Error of another realm, in which another spec loaded it.
        const message = expect.stringMatching(guard) as string;
        await expect(asOtherWriter(folder, sql, parameters)).rejects.toMatchObject({ message });
      }
      await asOtherWriter(folder, INSERT, ['vanilla', 'small', '🍪'.repeat(255), 1]);
    });
  });

  describe('stop a start', () => {
    const startOn = (MIGRATE_ON_START: string): Promise<unknown> =>
      startService({ DATABASE_URL: databaseUrlFor(folder), MIGRATE_ON_START, LOG_LEVEL: 'silent' });

    it('with their name and the command when MIGRATE_ON_START is false and the database lacks them', async () => {
      await expect(startOn('false')).rejects.toMatchObject(startError(`${MIGRATION}.*npm run migration:run`));
    });

    it.each(['true', 'false'])(
      'when a newer version has run others, with MIGRATE_ON_START=%s',
      async (migrateOnStart) => {
        const dataSource = await openDataSource({}, [], folder);
        await migrate(dataSource);
        await dataSource.destroy();
        const [insert, later] = ['INSERT INTO migrations (timestamp, name) VALUES ($1, $2)', 'Later2000000000000'];
        await asOtherWriter(folder, insert, [2e12, later]);
        await expect(startOn(migrateOnStart)).rejects.toMatchObject(startError(later));
      },
    );
  });
});
