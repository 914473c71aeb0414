import { type DataSource, type MigrationInterface, type QueryRunner, Table, TableColumn } from 'typeorm';
import { migrate } from '../../src/database/schema/migrations.js';
import { createResourceTable } from '../../src/resource/store/resource-migration.js';
import { openDataSource } from '../support/data-source.js';
import { migrationOf } from '../support/migration-of.js';
import { temporaryFolder } from '../support/service.js';

const COLUMNS = '"id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "name" varchar NOT NULL';

const CREATE_RELATED = migrationOf(
  'CreateRelated2000000000000',
  async (runner) => {
    await runner.query(`CREATE TABLE "jars" (${COLUMNS})`);
    await runner.query('CREATE TABLE "lids" ("jar" integer NOT NULL REFERENCES "jars" ("id") ON DELETE CASCADE)');
    await runner.query('CREATE TABLE "labels" ("jar" integer REFERENCES "jars" ("id") ON DELETE SET NULL)');
  },
  async (runner) => {
    for (const table of ['labels', 'lids', 'jars']) await runner.query(`DROP TABLE "${table}"`);
  },
);

/** A migration as `migration:generate` writes it. */
const GENERATED = migrationOf(
  'Generated2000000000001',
  async (runner) => {
    await runner.query(`CREATE TABLE "temporary_jars" (${COLUMNS}, "size" varchar)`);
    await runner.query('INSERT INTO "temporary_jars"("id", "name") SELECT "id", "name" FROM "jars"');
    await runner.query('DROP TABLE "jars"');
    await runner.query('ALTER TABLE "temporary_jars" RENAME TO "jars"');
  },
  async (runner) => {
    await runner.query('ALTER TABLE "jars" RENAME TO "temporary_jars"');
    await runner.query(`CREATE TABLE "jars" (${COLUMNS})`);
    await runner.query('INSERT INTO "jars"("id", "name") SELECT "id", "name" FROM "temporary_jars"');
    await runner.query('DROP TABLE "temporary_jars"');
  },
);

const optional = (name: string) => new TableColumn({ name, type: 'varchar', isNullable: true });

/** A migration that calls methods of the query runner, which rebuild the table. */
const BY_METHODS = migrationOf(
  'ByMethods2000000000001',
  (runner) => runner.addColumn('jars', optional('size')),
  (runner) => runner.dropColumn('jars', 'size'),
);

/** Runs a change by the statements that `migration:generate` writes for it. @returns the statements that revert it */
async function byStatements(runner: QueryRunner, change: () => Promise<void>) {
  runner.clearSqlMemory();
  runner.enableSqlMemory();
  await change();
  const { upQueries, downQueries } = runner.getMemorySql();
  runner.disableSqlMemory();
  for (const { query, parameters } of upQueries) await runner.query(query, parameters);
  return downQueries.toReversed();
}

/** A change by methods of the query runner, which runs up and down by the statements that `migration:generate` writes. */
function generatedOf(
  name: string,
  prepare: (runner: QueryRunner) => Promise<unknown>,
  change: (runner: QueryRunner) => Promise<void>,
): MigrationInterface {
  let downQueries: Awaited<ReturnType<typeof byStatements>> = [];
  return migrationOf(
    name,
    async (runner) => {
      await prepare(runner);
      downQueries = await byStatements(runner, () => change(runner));
    },
    async (runner) => {
      for (const { query, parameters } of downQueries) await runner.query(query, parameters);
    },
  );
}

/** A table with parts that TypeORM does not read. */
const CREATE_BOXES = migrationOf('CreateBoxes2000000000001', async (runner) => {
  // TypeORM makes this table for generated columns of entities.
  await runner.query('CREATE TABLE typeorm_metadata (type, "database", schema, "table", name, value)');
  await runner.query(`
      create table "boxes" (
        id integer primary key autoincrement not null,
        "code" varchar(10) COLLATE NOCASE UNIQUE CHECK (length("code") > 1), -- no CHECK (1), no COLLATE RTRIM
        "kind" varchar CHECK( "kind" IN ('),','b') ),
        "size" decimal(8,2) CHECK ("size" > 0 OR "code" = 'CHECK ('),
        "upper" varchar AS (upper("code")) VIRTUAL,
        "inner" integer,
        CONSTRAINT "few" CHECK (coalesce("size", 1) < 10
          AND replace(coalesce("kind", ''), 'x', '') <> 'y'),
        constraint odd check ("size" <> 4),
        CONSTRAINT "into" FOREIGN KEY ("inner") REFERENCES "boxes" ("id") DEFERRABLE INITIALLY DEFERRED
      )`);
  await runner.query(`create unique index "part" on "boxes" ("size") where "kind" = 'b'\n and "size" > 5`);
  await runner.query('CREATE UNIQUE INDEX "back" ON "boxes" ("size" DESC, trim("kind"), "code" COLLATE RTRIM)');
  await runner.query(`INSERT INTO boxes (id, code, kind, size) VALUES (1, 'ab', 'b', 2.5), (9, 'cd', NULL, 3)`);
  await runner.query('DELETE FROM boxes WHERE id = 9');
});

describe('a migration that rebuilds a table which others refer to', () => {
  let folder: string;
  let dataSource: DataSource;

  const openWith = async (...migrations: MigrationInterface[]): Promise<void> => {
    dataSource = await openDataSource({}, undefined, folder);
    dataSource.migrations.push(CREATE_RELATED, ...migrations);
  };

  const migrateWith = async (...migrations: MigrationInterface[]): Promise<string[]> => {
    await openWith(...migrations);
    return migrate(dataSource);
  };

  const migrateBy = (up: (runner: QueryRunner) => Promise<unknown>): Promise<string[]> =>
    migrateWith(migrationOf('Changing2000000000001', up));

  beforeEach(async () => {
    folder = temporaryFolder();
    await migrateWith();
    await dataSource.query("INSERT INTO jars (name) VALUES ('oak'), ('glass'), ('tin')");
    await dataSource.query('DELETE FROM jars WHERE id = 3');
    await dataSource.query('INSERT INTO lids (jar) VALUES (1), (2), (2)');
    await dataSource.query('INSERT INTO labels (jar) VALUES (2), (NULL), (1)');
    await dataSource.destroy();
  });

  afterEach(() => dataSource.destroy());

  /** All rows, the last given id, the targets and violations of foreign keys, and whether foreign keys are enforced. */
  const state = async (jars = 'jars') => ({
    jars: await dataSource.query(`SELECT id, name FROM ${jars} ORDER BY id`),
    lastId: await dataSource.query(`SELECT seq FROM sqlite_sequence WHERE name = '${jars}'`),
    lids: await dataSource.query('SELECT rowid, jar FROM lids ORDER BY rowid'),
    labels: await dataSource.query('SELECT rowid, jar FROM labels ORDER BY rowid'),
    references: await dataSource.query(
      `SELECT "table", on_delete FROM pragma_foreign_key_list('lids')
       UNION ALL SELECT "table", on_delete FROM pragma_foreign_key_list('labels')`,
    ),
    violations: await dataSource.query('PRAGMA foreign_key_check'),
    settings: [await dataSource.query('PRAGMA foreign_keys'), await dataSource.query('PRAGMA legacy_alter_table')],
  });

  async function expectNoChange(work: () => Promise<unknown>, error: string | RegExp): Promise<void> {
    const before = await state();
    await expect(work()).rejects.toThrow(error);
    expect(await state()).toEqual(before);
  }

  it.each<[how: string, transaction: 'all' | 'each' | 'none', migration: MigrationInterface]>([
    ['as TypeORM generates it', 'all', GENERATED],
    ['as TypeORM generates it, reverted without a transaction', 'none', GENERATED],
    ['by the methods of the query runner', 'each', BY_METHODS],
  ])('keeps every row up, down and up again: %s', async (_how, transaction, migration) => {
    await openWith(migration);
    const before = await state();
    expect(before.lids).toHaveLength(3);
    expect(await migrate(dataSource)).toHaveLength(1);
    expect(await state()).toEqual(before);
    await dataSource.undoLastMigration({ transaction });
    expect(await state()).toEqual(before);
    expect(await migrate(dataSource)).toHaveLength(1);
    expect(await state()).toEqual(before);
    await expect(dataSource.query('INSERT INTO lids (jar) VALUES (9)')).rejects.toThrow('FOREIGN KEY');
  });

  it('renames the foreign keys of other tables when it renames the table for good', async () => {
    const renaming = migrationOf(
      'Renaming2000000000001',
      (runner) => runner.query('ALTER TABLE "jars" RENAME TO "vessels"'),
      (runner) => runner.query('ALTER TABLE "vessels" RENAME TO "jars"'),
    );
    await openWith(renaming);
    const before = await state();
    await migrate(dataSource);
    const renamed = await state('vessels');
    expect(renamed.violations).toEqual([]);
    expect(renamed.references).toMatchObject([{ table: 'vessels' }, { table: 'vessels' }]);
    await dataSource.undoLastMigration();
    expect(await state()).toEqual(before);
  });

  it('renames the foreign key of a table to itself when it renames the table', async () => {
    const columns = [
      { name: 'id', type: 'integer', isPrimary: true },
      { name: 'parent', type: 'integer', isNullable: true },
    ];
    const parent = { columnNames: ['parent'], referencedTableName: 'kinds', referencedColumnNames: ['id'] };
    const kinds = new Table({ name: 'kinds', columns, foreignKeys: [{ ...parent, onDelete: 'CASCADE' }] });
    await migrateBy(async (runner) => {
      await runner.createTable(kinds);
      await runner.query('INSERT INTO kinds VALUES (1, NULL), (2, 1)');
      await runner.renameTable('kinds', 'sorts');
    });
    await dataSource.query('DELETE FROM sorts WHERE id = 1');
    expect(await dataSource.query('SELECT * FROM sorts')).toEqual([]);
  });

  it.each<[how: string, change: () => Promise<unknown>]>([
    [
      'in a transaction',
      () => dataSource.transaction((manager) => manager.queryRunner!.addColumn('jars', optional('size'))),
    ],
    ['without one', () => dataSource.createQueryRunner().addColumn('jars', optional('size'))],
    ['by DROP TABLE', () => dataSource.query('DROP TABLE IF EXISTS jars')],
  ])('is rejected outside a migration, where it would delete rows of other tables: %s', async (_how, change) => {
    await openWith();
    await expectNoChange(change, 'do it in a migration');
    expect(await dataSource.query(`SELECT 1 FROM sqlite_schema WHERE name LIKE 'temporary%'`)).toEqual([]);
  });

  it('keeps the CHECKs of a resource, including that of its UUIDs', async () => {
    await migrateBy(async (runner) => {
      // TypeORM parses the CHECKs in its SQL.
      const checks = { name_is_more: `replace(replace("name", 'a', ''), 'b', '') <> ''` };
      await createResourceTable(runner, 'vials', { ids: 'uuid', columns: { name: 'varchar' }, checks });
      await runner.addColumn('vials', optional('size'));
    });
    const insert = (id: string, name: string) =>
      dataSource.query('INSERT INTO vials (id, name) VALUES (?, ?)', [id, name]);
    await insert('01999999-0000-7000-8000-00000000000a', 'abc');
    await expect(insert('01999999-0000-7000-8000-00000000000B', 'abc')).rejects.toThrow('CHECK');
    await expect(insert('01999999-0000-7000-8000-00000000000c', 'ab')).rejects.toThrow('CHECK');
  });

  it('renames a column, also in the CHECKs and in the index', async () => {
    await migrateBy(async (runner) => {
      const checks = { name_is_short: `length("name") < 5` };
      const keys = { unique: [['name']], indices: [['name', 'revision']] };
      await createResourceTable(runner, 'vials', { columns: { name: 'varchar' }, checks, ...keys });
      await runner.query(`CREATE INDEX "named" ON "vials" ("revision") WHERE "name" <> 'name'`);
      await runner.renameColumn('vials', 'name', 'title');
      const title = (await runner.getTable('vials'))!.findColumnByName('title')!;
      const label = Object.assign(title.clone(), { name: 'label', default: "'none'" });
      await runner.changeColumn('vials', title, label);
      await runner.addColumn('vials', optional('size'));
    });
    const insert = (label: string) => dataSource.query('INSERT INTO vials (label) VALUES (?)', [label]);
    await insert('abc');
    await expect(insert('abcde')).rejects.toThrow('CHECK constraint failed: name_is_short');
    await expect(insert('abc')).rejects.toThrow('UNIQUE constraint failed: vials.label');
    const plan = await dataSource.query('EXPLAIN QUERY PLAN SELECT label FROM vials ORDER BY label, revision');
    expect(plan).toEqual([expect.objectContaining({ detail: expect.stringContaining('USING COVERING INDEX') })]);
    const [named] = await dataSource.query<[{ sql: string }]>(`SELECT sql FROM sqlite_schema WHERE name = 'named'`);
    expect(named.sql).toContain(`WHERE "label" <> 'name'`);
  });

  it('keeps indices over expressions, and indices that SQL has made since the table was read', async () => {
    const prepare = async (runner: QueryRunner): Promise<void> => {
      await runner.query('CREATE UNIQUE INDEX "lower_name" ON "jars" (lower("name"))');
      await runner.getTable('jars');
      await runner.query('CREATE INDEX "upper_name" ON "jars" (upper("name"))');
      await runner.query('CREATE UNIQUE INDEX "of_name" ON "jars" ("name")');
      for (const name of ['size', 'color']) await runner.addColumn('jars', optional(name));
      await runner.getTable('jars');
    };
    const keeping = generatedOf('KeepingIndices2000000000001', prepare, async (runner) => {
      await runner.dropIndex('jars', 'of_name');
      await runner.addColumn('jars', optional('form'));
    });
    await openWith(keeping);
    const ofJars = `SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'jars' ORDER BY name`;
    const indices = async () => (await dataSource.query<{ name: string }[]>(ofJars)).map(({ name }) => name);
    await migrate(dataSource);
    expect(await indices()).toEqual(['lower_name', 'upper_name']);
    await dataSource.query("INSERT INTO jars (name) VALUES ('a')");
    await expect(dataSource.query("INSERT INTO jars (name) VALUES ('A')")).rejects.toThrow('UNIQUE');
    await dataSource.undoLastMigration();
    expect(await indices()).toEqual(['lower_name', 'of_name', 'upper_name']);
  });

  it('keeps what TypeORM does not read: CHECKs, collations, conditions and orders of indices, and more', async () => {
    const readTable = (runner: QueryRunner) => runner.getTable('boxes');
    const changing = generatedOf('ChangeBoxes2000000000002', readTable, async (runner) => {
      await runner.dropIndex('boxes', 'back');
      await runner.addColumn('boxes', optional('form'));
      await runner.renameColumn('boxes', 'size', 'width');
    });
    await migrateWith(CREATE_BOXES);
    await dataSource.destroy();
    await openWith(CREATE_BOXES, changing);
    const parts = async () => [
      await dataSource.query(`SELECT * FROM pragma_table_xinfo('boxes')`),
      await dataSource.query(
        `SELECT list.name, "unique", partial, column.name, "desc", coll
         FROM pragma_index_list('boxes') AS list, pragma_index_xinfo(list.name) AS column ORDER BY list.name, seqno`,
      ),
      await dataSource.query(`SELECT * FROM boxes, sqlite_sequence WHERE name = 'boxes'`),
    ];
    const insert = (column: string, values: object) => {
      const all = { id: null, code: null, kind: null, [column]: null, inner: null, ...values };
      const names = Object.keys(all).map((name) => `"${name}"`);
      return dataSource.query(`INSERT INTO boxes (${names.join()}) VALUES (?, ?, ?, ?, ?)`, Object.values(all));
    };
    const expectParts = async (column: string) => {
      for (const values of [
        { code: 'a' },
        { kind: 'a' },
        { code: 'no', [column]: 0 },
        { [column]: 10 },
        { [column]: 4 },
      ]) {
        await expect(insert(column, values)).rejects.toThrow('CHECK');
      }
      await expect(insert(column, { code: 'AB' })).rejects.toThrow('UNIQUE');
      await expect(insert(column, { inner: 5 })).rejects.toThrow('FOREIGN KEY');
      const two = dataSource.transaction(async (manager) => {
        await manager.query(`INSERT INTO boxes (id, "inner") VALUES (50, 51), (51, 50)`);
        throw new Error('Both are stored');
      });
      await expect(two).rejects.toThrow('Both are stored');
    };
    const before = await parts();
    await expectParts('size');
    await migrate(dataSource);
    await expectParts('width');
    await dataSource.undoLastMigration();
    expect(await parts()).toEqual(before);
    await expectParts('size');
  });

  it('removes the UNIQUE of a column, and not those of others', async () => {
    // As `migration:generate` does after a change of the entity.
    await migrateBy(async (runner) => {
      const columns = ['code', 'name'].map((name) => ({ name, type: 'varchar', isUnique: true }));
      await runner.createTable(new Table({ name: 'crates', columns }));
      await runner.query(`INSERT INTO crates VALUES ('a', 'b')`);
      const code = (await runner.getTable('crates'))!.findColumnByName('code')!;
      await runner.changeColumn('crates', code, Object.assign(code.clone(), { isUnique: false }));
    });
    const insert = (...values: string[]) => dataSource.query('INSERT INTO crates VALUES (?, ?)', values);
    await insert('a', 'c');
    await expect(insert('d', 'c')).rejects.toThrow('UNIQUE constraint failed: crates.name');
  });

  it('changes nothing when it fails while it is reverted, and foreign keys are enforced again', async () => {
    const down = async (runner: QueryRunner): Promise<void> => {
      await GENERATED.down(runner);
      throw new Error('on the way back');
    };
    await migrateWith(migrationOf('FailingOnTheWayBack2000000000001', (runner) => GENERATED.up(runner), down));
    await expectNoChange(() => dataSource.undoLastMigration(), 'on the way back');
  });

  it('changes nothing when it leaves rows without the row that they refer to', async () => {
    const deleting = (runner: QueryRunner) => runner.query('DELETE FROM "jars" WHERE "id" = 1');
    await openWith(migrationOf('DeletingParents2000000000001', deleting));
    await expectNoChange(
      () => migrate(dataSource),
      /^A migration failed, and the database is as it was before: .* refers to a row of "jars" that does not exist/,
    );
  });

  it('changes nothing when a value cannot have the new type of its column, also as TypeORM generates it', async () => {
    const narrowing = migrationOf('NarrowingByStatements2000000000001', async (runner) => {
      const number = new TableColumn({ name: 'name', type: 'integer' });
      await byStatements(runner, () => runner.changeColumn('jars', 'name', number));
    });
    await openWith(narrowing);
    await expectNoChange(() => migrate(dataSource), 'The value "oak" of "name" is no integer; change such rows');
  });

  it.each([
    ['date', '2026-02-30'],
    ['date', '007'],
    ['datetime', '2026-02-30T12:00:00Z'],
    ['datetime', '12.5'],
    ['boolean', '007'],
  ])('makes no %s of the text %s, for which SQLite would store another value', async (type, text) => {
    const create = async (runner: QueryRunner) => {
      await runner.query('CREATE TABLE "moments" ("moment" varchar)');
      await runner.query(`INSERT INTO "moments" VALUES ('${text}')`);
      await runner.changeColumn('moments', 'moment', new TableColumn({ name: 'moment', type }));
    };
    await openWith(migrationOf('MakingDays2000000000001', create));
    await expectNoChange(() => migrate(dataSource), ` of "moment" is no ${type}; change such rows`);
  });

  it('keeps all digits of a decimal that becomes a text, as PostgreSQL does', async () => {
    const price = { name: 'price', isNullable: true };
    const decimal = new TableColumn({ ...price, type: 'decimal', precision: 15, scale: 4 });
    await migrateBy(async (runner) => {
      await runner.createTable(new Table({ name: 'prices', columns: [decimal] }));
      await runner.query('INSERT INTO prices VALUES (99999999999.9999), (1.5), (-0.0001), (NULL)');
      await runner.changeColumn('prices', 'price', new TableColumn({ ...price, type: 'varchar' }));
    });
    const texts = ['99999999999.9999', '1.5000', '-0.0001', null];
    expect(await dataSource.query('SELECT price FROM prices')).toEqual(texts.map((text) => ({ price: text })));
  });

  it('makes true and false of booleans that become texts, as PostgreSQL does, and booleans of these texts', async () => {
    const column = (type: string) => new TableColumn({ name: 'value', type, isNullable: true });
    const found: unknown[] = [];
    await migrateBy(async (runner) => {
      await runner.createTable(new Table({ name: 'flags', columns: [column('boolean')] }));
      await runner.query('INSERT INTO flags VALUES (1), (0), (NULL)');
      for (const type of ['varchar', 'boolean']) {
        await runner.changeColumn('flags', 'value', column(type));
        found.push((await runner.query('SELECT value FROM flags')).map(({ value }: { value: unknown }) => value));
      }
    });
    expect(found).toEqual([
      ['true', 'false', null],
      [1, 0, null],
    ]);
  });

  it('is not reverted while a value cannot have the earlier type of its column', async () => {
    const create = (runner: QueryRunner) => runner.query('CREATE TABLE "weights" ("grams" integer, "days" integer)');
    const decimal = new TableColumn({ name: 'grams', type: 'decimal', precision: 10, scale: 2 });
    const widening = generatedOf('WideningByMethods2000000000001', create, async (runner) => {
      await runner.changeColumn('weights', 'grams', decimal);
      await runner.changeColumn('weights', 'days', new TableColumn({ name: 'term', type: 'varchar' }));
    });
    await migrateWith(widening);
    await dataSource.query(`INSERT INTO weights VALUES (1, '14'), (1.25, '7')`);
    await expect(dataSource.undoLastMigration()).rejects.toThrow('The value 1.25 of "grams" is no integer');
    await dataSource.query('UPDATE weights SET grams = 2 WHERE grams = 1.25');
    await dataSource.undoLastMigration();
  });

  it('runs where another program has left such rows before', async () => {
    await openWith(GENERATED);
    const runner = dataSource.createQueryRunner();
    await runner.beforeMigration();
    await runner.query('DELETE FROM jars WHERE id = 1');
    await runner.release();
    expect(await migrate(dataSource)).toHaveLength(1);
  });

  it('is rejected inside a transaction, where foreign keys cannot be switched off', async () => {
    await openWith();
    const runner = dataSource.createQueryRunner();
    await runner.startTransaction();
    await expect(runner.beforeMigration()).rejects.toThrow('before startTransaction()');
    await runner.rollbackTransaction();
    await runner.release();
  });

  it('leaves foreign keys enforced when its query runner is released before its end', async () => {
    await openWith();
    const before = await state();
    const runner = dataSource.createQueryRunner();
    await runner.beforeMigration();
    await runner.startTransaction();
    await runner.query('DROP TABLE jars');
    await runner.release();
    expect(await state()).toEqual(before);
  });
});
