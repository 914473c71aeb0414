import { Like, QueryFailedError, type QueryRunner, Table, TableColumn, type TableColumnOptions } from 'typeorm';
import { count, type Habit, type Habits, type Item, Parcel } from './habits.js';

const inTransaction =
  (work: (runner: QueryRunner) => Promise<unknown>): Habit =>
  ({ dataSource }) =>
    dataSource.transaction(({ queryRunner }) => work(queryRunner!));

export const RECORDS: Habits = {
  // Writes and reads.
  'insert() keeps a given id, and the next one is beyond it': async ({ items, name }) => {
    await items.insert({ id: 5000, name });
    const all = [await items.findOneByOrFail({ name }), await items.save({ name: `${name} b` })];
    expect(all.map(({ id }) => id)).toEqual([5000, 5001]);
  },
  'save() keeps a given id, also where the sequence is far beyond it': async ({ items, name }) => {
    const saved = [await items.save({ id: 7000, name }), await items.save({ id: 6000, name: `${name} b` })];
    expect([...saved.map(({ id }) => id), (await items.save({ name: `${name} c` })).id]).toEqual([7000, 6000, 7001]);
  },
  'upsert() by a given id inserts it, and updates it then': async (context) => {
    const { items, name } = context;
    await items.upsert({ id: 8000, name }, ['id']);
    await items.upsert({ id: 8000, name: `${name} b` }, ['id']);
    expect([(await items.findOneByOrFail({ id: 8000 })).name, await count(context)]).toEqual([`${name} b`, 1]);
  },
  'findAndCount() of some columns counts each row, whatever its values are': async ({ items, name }) => {
    await items.insert(['a', 'b', 'c'].map((letter) => ({ name: `${name} ${letter}` })));
    const where = { name: Like(`${name} %`) };
    for (const select of [{ id: true, code: true }, { price: true }]) {
      const [page, total] = await items.findAndCount({ where, select, take: 2 });
      expect([page.length, total]).toEqual([2, 3]);
    }
    expect(await items.count({ where, select: { price: true } })).toBe(1);
  },
  'insert() and remove() of 1500 rows': async (context) => {
    const { items, name } = context;
    const rows = Array.from({ length: 1500 }, (_, index) => ({ name: `${name} ${index}` }));
    const { identifiers } = await items.insert(rows);
    await items.remove(await items.findBy({ name: Like(`${name} %`) }));
    expect([new Set(identifiers.map(({ id }) => id as number)).size, await count(context)]).toEqual([1500, 0]);
  },
  'insert() of given ids and generated ones gives each object its own id': async ({ items, name }) => {
    const given = [20_000, undefined, 20_002, 19_000, undefined].map(
      (id, index) => ({ id, name: `${name} ${index}` }) as Item,
    );
    const { identifiers } = await items.insert(given);
    const found = await Promise.all(identifiers.map((key) => items.findOneByOrFail(key)));
    expect(given.map(({ id, name }) => [id, name])).toEqual(found.map((item) => [item.id, item.name]));
  },
  'upsert() updates what exists, and gives an object the id of the row that it updates': async ({ items, name }) => {
    const { id } = await items.save({ name });
    await items.insert({ name: `${name} b` });
    const given: Partial<Item> = { name, sold: true };
    const { identifiers } = await items.upsert(given, ['name']);
    const { sold } = await items.findOneByOrFail({ name });
    expect([given.id, identifiers[0]!['id'], sold]).toEqual([id, id, true]);
  },
  'save() converts the values of columns with a default once': async ({ dataSource, name }) => {
    const parcels = dataSource.getRepository(Parcel);
    const values = { euros: 12.5, note: 'text' };
    const parcel = await parcels.save({ label: name, ...values });
    const again = await parcels.save({ ...parcel, label: `${name} 2` });
    const found = await parcels.findOneByOrFail({ id: parcel.id });
    expect([parcel, again, found]).toMatchObject([values, values, values]);
  },
  'insert() of many with uuids gives each object its own uuid': async ({ dataSource, name }) => {
    const parcels = dataSource.getRepository(Parcel);
    const given = Array.from({ length: 9 }, (_, index) => ({ label: `${name} ${index}` }) as Parcel);
    const { identifiers } = await parcels.insert(given);
    const found = await Promise.all(identifiers.map((key) => parcels.findOneByOrFail(key)));
    expect(given.map(({ id, label }) => [id, label])).toEqual(found.map(({ id, label }) => [id, label]));
  },
  ...Object.fromEntries(
    [{ take: -1 }, { skip: -1, take: 1 }].map((page): [string, Habit] => [
      `find(${JSON.stringify(page)}) is an error`,
      ({ items }) => expect(items.find(page)).rejects.toThrow('must not be negative'),
    ]),
  ),
  'update() and delete() say how many rows they changed': async ({ items, name }) => {
    await items.insert([{ name }, { name: `${name} b` }]);
    const named = { name: Like(`${name}%`) };
    const results = [await items.update(named, { sold: true }), await items.delete(named)];
    expect(results.map(({ affected }) => affected)).toEqual([2, 2]);
  },
  'softDelete() hides, restore() shows again': async (context) => {
    const { items, name } = context;
    await items.insert({ name });
    await items.softDelete({ name });
    const hidden = await count(context);
    await items.restore({ name });
    expect([hidden, await count(context)]).toEqual([0, 1]);
  },
  'increment() adds': async ({ items, name }) => {
    await items.insert({ name, big: 1 });
    await items.increment({ name }, 'big', 2);
    expect((await items.findOneByOrFail({ name })).big).toEqual(3);
  },
  'a VersionColumn counts saves, and a save() of an older state does not turn it back': async ({ items, name }) => {
    const old = await items.save({ name });
    await items.save({ ...old, sold: true });
    await items.save({ ...old, pieces: '1' });
    expect((await items.findOneByOrFail({ name })).version).toEqual(3);
  },
  // Changes of the schema.
  'changeColumn() keeps the values when type, length, default or name change': inTransaction(async (runner) => {
    const columns: TableColumnOptions[] = [
      { name: 'id', type: 'integer', isPrimary: true, isGenerated: true, generationStrategy: 'increment' },
      { name: 'weight', type: 'integer', default: 1 },
      { name: 'label', type: 'varchar', length: '5' },
      { name: 'code', type: 'varchar', default: "'1'" },
      { name: 'packed', type: 'timestamp' },
    ];
    const change = (name: string, column: Partial<TableColumnOptions>) => {
      const before = columns.find((each) => each.name === name)!;
      return runner.changeColumn('boxes', name, new TableColumn({ ...before, ...column }));
    };
    await runner.createTable(new Table({ name: 'boxes', columns }));
    await runner.query(`INSERT INTO boxes (weight, label, code, packed) VALUES (7, 'heavy', '12', '2026-01-31')`);
    await change('weight', { default: 2 });
    await change('label', { name: 'title', length: '50' });
    await change('code', { type: 'integer', default: 3 });
    await change('packed', { isNullable: true });
    await runner.query(`INSERT INTO boxes (title) VALUES ('light')`);
    expect(await runner.query(`SELECT id, weight, title, code FROM boxes ORDER BY id`)).toEqual([
      { id: 1, weight: 7, title: 'heavy', code: 12 },
      { id: 2, weight: 2, title: 'light', code: 3 },
    ]);
  }),
  'changeColumn() keeps the values when a text or a number becomes an enum, and an enum a text': inTransaction(
    async (runner) => {
      const levels = { type: 'simple-enum', enum: ['1', '2'], enumName: 'levels' };
      const columns: TableColumnOptions[] = [
        { name: 'state', type: 'varchar', default: "'new'" },
        { name: 'level', type: 'integer', isNullable: true },
        { name: 'grade', ...levels, enumName: 'grades', default: "'1'" },
        { name: 'rank', type: 'varchar', default: "'1'" },
      ];
      const change = (name: string, column: Partial<TableColumnOptions>) =>
        runner.changeColumn('flasks', name, new TableColumn({ name, type: 'varchar', ...column }));
      await runner.createTable(new Table({ name: 'flasks', columns }));
      await runner.query(`INSERT INTO flasks VALUES ('used', 2, '2', '1')`);
      await change('state', { name: 'status', type: 'simple-enum', enum: ['new', 'used'], default: "'new'" });
      await change('level', levels);
      await change('grade', { default: "'none'" });
      await change('level', {});
      await change('level', levels);
      await change('rank', { ...levels, default: "'1'" });
      await runner.query(`INSERT INTO flasks (level) VALUES ('1')`);
      expect(await runner.query('SELECT status, level, grade, rank FROM flasks ORDER BY level DESC')).toEqual([
        { status: 'used', level: '2', grade: '2', rank: '1' },
        { status: 'new', level: '1', grade: 'none', rank: '1' },
      ]);
    },
  ),
  'changeColumn() turns instants into days or texts, and days or texts into instants, in UTC': inTransaction(
    async (runner) => {
      const columns: TableColumnOptions[] = [
        { name: 'filled', type: 'timestamp' },
        { name: 'opened', type: 'date' },
        { name: 'washed', type: 'varchar' },
        { name: 'dried', type: 'timestamp' },
      ];
      if (runner.dataSource.options.type === 'postgres') await runner.query(`SET LOCAL TIME ZONE 'Asia/Tokyo'`);
      await runner.createTable(new Table({ name: 'jugs', columns }));
      const evening = new Date('2026-01-31T20:00:00Z');
      await runner.sql`INSERT INTO jugs VALUES (${evening}, '2026-01-31', '2026-01-31 20:00:00', ${evening})`;
      await runner.changeColumn('jugs', 'filled', new TableColumn({ name: 'filled', type: 'date' }));
      await runner.changeColumn('jugs', 'opened', new TableColumn({ name: 'opened', type: 'timestamp' }));
      await runner.changeColumn('jugs', 'washed', new TableColumn({ name: 'washed', type: 'timestamp' }));
      await runner.changeColumn('jugs', 'dried', new TableColumn({ name: 'dried', type: 'varchar' }));
      // PostgreSQL stores it without a time zone.
      await runner.sql`CREATE TABLE mugs (filled timestamp)`;
      await runner.sql`INSERT INTO mugs VALUES ('2026-01-31 20:00:00')`;
      await runner.changeColumn('mugs', 'filled', new TableColumn({ name: 'filled', type: 'date' }));
      expect(
        await runner.sql`
        SELECT CAST(jugs.filled AS text) AS jug, CAST(mugs.filled AS text) AS mug FROM jugs, mugs
        WHERE opened = ${new Date('2026-01-31T00:00:00Z')} AND washed = ${evening}
          AND dried LIKE '2026-01-31 20:00:00%'`,
      ).toEqual([{ jug: '2026-01-31', mug: '2026-01-31' }]);
    },
  ),
  'changeColumn() never cuts, rounds or keeps a value that the new type cannot have': async ({ dataSource }) => {
    const columns: TableColumnOptions[] = [
      { name: 'label', type: 'varchar', length: '9' },
      { name: 'price', type: 'decimal', precision: 5, scale: 2 },
      { name: 'pieces', type: 'decimal', precision: 5, scale: 2 },
      { name: 'weight', type: 'double precision' },
      { name: 'packed', type: 'varchar' },
      { name: 'sent', type: 'varchar' },
      { name: 'rate', type: 'decimal', precision: 5, scale: 3 },
      { name: 'fee', type: 'double precision' },
      { name: 'sealed', type: 'varchar' },
      { name: 'grams', type: 'integer' },
      { name: 'cost', type: 'integer' },
    ];
    await dataSource.transaction(async ({ queryRunner }) => {
      await queryRunner!.createTable(new Table({ name: 'crates', columns }));
      await queryRunner!.query(
        `INSERT INTO crates VALUES ('heavy', 1.4, 3.00, 2.5, 'soon', '2026-01-31T01:00:00+02:00', 1.235, 1.255, 'often', 32768, 100)`,
      );
    });
    const change = (name: string, column: Partial<TableColumnOptions>) =>
      dataSource.transaction(({ queryRunner }) =>
        queryRunner!.changeColumn('crates', name, new TableColumn({ name, type: 'varchar', ...column })),
      );
    const rejected: string[] = [];
    for (const [name, type] of Object.entries({ price: 'integer', weight: 'integer', packed: 'timestamp' })) {
      await change(name, { type }).catch(() => rejected.push(name));
    }
    for (const [name, precision] of Object.entries({ rate: 5, fee: 5, cost: 4, pieces: 2 })) {
      await change(name, { type: 'decimal', precision, scale: 2 }).catch(() => rejected.push(name));
    }
    await change('sealed', { type: 'boolean' }).catch(() => rejected.push('sealed'));
    await change('grams', { type: 'smallint' }).catch(() => rejected.push('grams'));
    await change('label', { length: '3' }).catch(() => rejected.push('label'));
    await change('label', { length: '5' });
    await change('cost', { type: 'decimal', precision: 5, scale: 2 });
    await change('price', { type: 'decimal', precision: 5, scale: 1 });
    await change('pieces', { type: 'integer' });
    await change('sent', { type: 'timestamp' });
    expect(rejected.join(' ')).toBe('price weight packed rate fee cost pieces sealed grams label');
    const right = await dataSource.sql`SELECT 1 AS one FROM crates WHERE label = 'heavy' AND price > 1.3 AND pieces = 3
      AND weight > 2.4 AND packed = 'soon' AND rate > 1.234 AND sent = ${new Date('2026-01-30T23:00:00Z')}`;
    expect(right).toEqual([{ one: 1 }]);
  },
  'dropColumn() drops the CHECKs that name the column, and keeps the others': async ({ dataSource }) => {
    await dataSource.transaction(async ({ queryRunner }) => {
      const columns = ['tall', 'wide', 'deep'].map((name) => ({ name, type: 'integer' }));
      const checks = ['"tall" < "wide"', '"deep" < 9'].map((expression) => ({ expression }));
      await queryRunner!.createTable(new Table({ name: 'doors', columns, checks }));
      await queryRunner!.dropColumn('doors', 'tall');
    });
    const deep = [8, 9].map((each) => dataSource.sql`INSERT INTO doors (wide, deep) VALUES (1, ${each})`);
    expect((await Promise.allSettled(deep)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  },
  'addColumn() with an instant as default stores it as TypeORM does': inTransaction(async (runner) => {
    await runner.createTable(new Table({ name: 'lamps', columns: [{ name: 'id', type: 'integer' }] }));
    await runner.query('INSERT INTO lamps (id) VALUES (1)');
    const column = { name: 'lit', type: 'timestamp', default: `'2026-01-31T01:00:00+02:00'` };
    await runner.addColumn('lamps', new TableColumn(column));
    await runner.query('INSERT INTO lamps (id) VALUES (2)');
    const lit = new Date('2026-01-30T23:00:00Z');
    expect(await runner.sql`SELECT count(*) AS count FROM lamps WHERE lit = ${lit}`).toEqual([{ count: 2 }]);
  }),
  'createTable() takes a generated key of any integer type, and the simple types of entities': inTransaction(
    async (runner) => {
      const parts = ['simple-json', 'simple-array'].map((type) => ({ name: type.slice(7), type, default: "'[]'" }));
      const key = { name: 'id', isPrimary: true, isGenerated: true, generationStrategy: 'increment' } as const;
      const ids: unknown[] = [];
      for (const type of ['int', 'int4', 'integer', 'bigint', 'smallint']) {
        await runner.createTable(new Table({ name: `drums_${type}`, columns: [{ ...key, type }, ...parts] }));
        await runner.query(`INSERT INTO drums_${type} ("array") VALUES ('a,b')`);
        ids.push(...(await runner.query(`SELECT id FROM drums_${type}`)));
      }
      expect(ids).toEqual(Array(5).fill({ id: 1 }));
    },
  ),
  'createTable() with the default now() stores the current instant': async (context) => {
    const began = Date.now() - 5;
    const ring = inTransaction(async (runner) => {
      const rung = { name: 'rung', type: 'timestamp', default: 'now()' };
      await runner.createTable(new Table({ name: 'bells', columns: [{ name: 'id', type: 'integer' }, rung] }));
      await runner.query('INSERT INTO bells (id) VALUES (1)');
      return runner.sql`SELECT count(*) AS count FROM bells WHERE rung BETWEEN ${new Date(began)} AND ${new Date()}`;
    });
    expect(await ring(context)).toEqual([{ count: 1 }]);
  },
  'addColumn() and changeColumn() make the columns of the entities': async ({ dataSource }) => {
    await dataSource.transaction(async ({ queryRunner: runner }) => {
      const columns = [
        { name: 'uuid', type: 'uuid', isNullable: true },
        { name: 'at', type: 'timestamp', isNullable: true },
      ];
      for (const column of columns) {
        await runner!.dropColumn('samples', column.name);
        await runner!.addColumn('samples', new TableColumn(column));
      }
      const sold = new TableColumn({ name: 'sold', type: 'boolean', default: false });
      await runner!.changeColumn('items', 'sold', sold);
    });
    expect((await dataSource.driver.createSchemaBuilder().log()).upQueries.map(({ query }) => query)).toEqual([]);
  },
  // Errors.
  'a UNIQUE violation is a QueryFailedError': ({ items, name }) =>
    expect(items.insert([{ name }, { name }])).rejects.toBeInstanceOf(QueryFailedError),
  'a NOT NULL violation, too': ({ items }) =>
    expect(items.insert({ name: null as unknown as string })).rejects.toBeInstanceOf(QueryFailedError),
  'a syntax error, too': ({ dataSource }) =>
    expect(dataSource.query('SELEKT 1')).rejects.toBeInstanceOf(QueryFailedError),
  'a foreign key violation, too': ({ items, name }) => {
    const shelf = { id: '00000000-0000-4000-8000-000000000000' };
    return expect(items.insert({ name, shelf })).rejects.toBeInstanceOf(QueryFailedError);
  },
  // Relations.
  'a cascade inserts children, and ON DELETE CASCADE deletes them': async (context) => {
    const { shelves, name } = context;
    const { id } = await shelves.save({ label: name, items: [{ name: `${name} a` }, { name: `${name} b` }] });
    const { items } = await shelves.findOneOrFail({ where: { id }, relations: { items: true } });
    await shelves.delete({ id });
    expect([items.length, await count(context)]).toEqual([2, 0]);
  },
};
