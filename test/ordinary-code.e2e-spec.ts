import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import {
  Column,
  CreateDateColumn,
  type DataSource,
  DeleteDateColumn,
  Entity,
  EntityNotFoundError,
  ILike,
  In,
  IsNull,
  Like,
  ManyToOne,
  MoreThan,
  Not,
  OneToMany,
  PrimaryGeneratedColumn,
  QueryFailedError,
  type Repository,
  TypeORMError,
  UpdateDateColumn,
  VersionColumn,
} from 'typeorm';
import { loadConfig } from '../src/config/config.js';
import { createDataSource } from '../src/database/data-source.js';
import { DatabaseUnavailableError, UnsafeIntegerError } from '../src/database/errors.js';
import { migrate } from '../src/database/schema/migrations.js';
import { openSnapshot } from '../src/database/snapshot.js';
import { committed, transaction } from '../src/database/transactions.js';
import { engineInUse, provideDatabase } from './support/engine.js';
import { environmentIn, temporaryFolder } from './support/service.js';

@Entity('shelves')
class Shelf {
  @PrimaryGeneratedColumn('uuid')
  id!: string;

  @Column('varchar')
  label!: string;

  @OneToMany(() => Item, (item) => item.shelf, { cascade: true })
  items!: Item[];
}

@Entity('items')
class Item {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column('varchar', { unique: true })
  name!: string;

  @Column('decimal', { precision: 10, scale: 2, default: 0 })
  price!: string;

  @Column('decimal', { precision: 6, nullable: true })
  pieces!: string | null;

  @Column('bigint', { nullable: true })
  big!: number | string | null;

  @Column('boolean', { default: false })
  sold!: boolean;

  @Column('simple-json', { nullable: true })
  extra!: object | null;

  @CreateDateColumn()
  created!: Date;

  @UpdateDateColumn()
  updated!: Date;

  @DeleteDateColumn()
  deleted!: Date | null;

  @VersionColumn()
  version!: number;

  @ManyToOne(() => Shelf, (shelf) => shelf.items, { nullable: true, onDelete: 'CASCADE' })
  shelf!: Shelf | null;
}

interface Context {
  readonly dataSource: DataSource;
  readonly items: Repository<Item>;
  readonly shelves: Repository<Shelf>;
  /** Names of one habit, so that habits do not meet. */
  readonly name: string;
}

type Habit = (context: Context) => Promise<unknown>;

const boom = new Error('changed my mind');
const count = ({ items, name }: Context) => items.countBy({ name: Like(`${name}%`) });

/** PostgreSQL rounds a decimal half away from zero (https://www.postgresql.org/docs/current/datatype-numeric.html). */
const ROUNDED: readonly [given: string | number, stored: string][] = [
  ['1.005', '1.01'],
  ['1.0049999', '1.00'],
  ['-1.005', '-1.01'],
  ['-0.004', '0.00'],
  ['9.995', '10.00'],
  ['.5', '0.50'],
  ['5.', '5.00'],
  [' +1.5 ', '1.50'],
  ['1.25e1', '12.50'],
  ['12345e-3', '12.35'],
  [1e-7, '0.00'],
  [0.1 + 0.2, '0.30'],
  [-2.675, '-2.68'],
  ['99999999.99', '99999999.99'],
  ['0.12345678901234567890', '0.12'],
];

/** What each resolves to, or the error it rejects with, is the same on both engines. */
const HABITS: Record<string, [habit: Habit, expected: unknown]> = {
  // Writing and reading.
  'save() gives a generated id': [async ({ items, name }) => typeof (await items.save({ name })).id, 'number'],
  'insert() keeps a given id, and the next one is beyond it': [
    async ({ items, name }) => {
      await items.insert({ id: 5000, name });
      return [(await items.findOneByOrFail({ name })).id, (await items.save({ name: `${name} b` })).id];
    },
    [5000, 5001],
  ],
  'save() keeps a given id, also where the sequence is far beyond it': [
    async ({ items, name }) => {
      const saved = [await items.save({ id: 7000, name }), await items.save({ id: 6000, name: `${name} b` })];
      return [...saved.map(({ id }) => id), (await items.save({ name: `${name} c` })).id];
    },
    [7000, 6000, 7001],
  ],
  'upsert() by a given id inserts it, and updates it then': [
    async (context) => {
      const { items, name } = context;
      await items.upsert({ id: 8000, name }, ['id']);
      await items.upsert({ id: 8000, name: `${name} b` }, ['id']);
      return [(await items.findOneByOrFail({ id: 8000 })).name === `${name} b`, await count(context)];
    },
    [true, 1],
  ],
  'several with given ids and without, in one insert()': [
    async ({ items, name }) => {
      await items.insert([{ id: 9000, name }, { name: `${name} b` }]);
      return (await items.save({ name: `${name} c` })).id > 9000;
    },
    true,
  ],
  'save() with an id updates': [
    async ({ items, name }) => {
      const { id } = await items.save({ name });
      await items.save({ id, name: `${name} b` });
      return (await items.findOneByOrFail({ id })).name.endsWith(' b');
    },
    true,
  ],
  'save() of many keeps their order': [
    async ({ items, name }) => {
      const saved = await items.save(['a', 'b', 'c'].map((letter) => ({ name: `${name} ${letter}` })));
      return saved.map((item) => item.name.at(-1)).join('');
    },
    'abc',
  ],
  'insert() gives identifiers': [
    async ({ items, name }) => typeof (await items.insert({ name })).identifiers[0]!['id'],
    'number',
  ],
  'insert() of many gives as many identifiers, ascending': [
    async ({ items, name }) => {
      const { identifiers } = await items.insert([{ name: `${name} a` }, { name: `${name} b` }]);
      return identifiers[1]!['id'] - identifiers[0]!['id'];
    },
    1,
  ],
  'update() says how many rows it changed': [
    async ({ items, name }) => {
      await items.insert({ name });
      return (await items.update({ name }, { sold: true })).affected;
    },
    1,
  ],
  'update() without a match changes none': [
    async ({ items, name }) => (await items.update({ name }, { sold: true })).affected,
    0,
  ],
  'delete() says how many rows it removed': [
    async ({ items, name }) => {
      await items.insert({ name });
      return (await items.delete({ name })).affected;
    },
    1,
  ],
  'remove() removes an entity': [
    async (context) => {
      await context.items.remove(await context.items.save({ name: context.name }));
      return count(context);
    },
    0,
  ],
  'upsert() updates what exists': [
    async ({ items, name }) => {
      await items.insert({ name });
      await items.upsert({ name, sold: true }, ['name']);
      return (await items.findOneByOrFail({ name })).sold;
    },
    true,
  ],
  'softDelete() hides, restore() shows again': [
    async (context) => {
      const { items, name } = context;
      await items.insert({ name });
      await items.softDelete({ name });
      const hidden = await count(context);
      await items.restore({ name });
      return [hidden, await count(context)];
    },
    [0, 1],
  ],
  'increment() adds': [
    async ({ items, name }) => {
      await items.insert({ name, big: 1 });
      await items.increment({ name }, 'big', 2);
      return (await items.findOneByOrFail({ name })).big;
    },
    3,
  ],
  'a VersionColumn counts saves': [
    async ({ items, name }) => {
      const item = await items.save({ name });
      await items.save({ ...item, sold: true });
      return (await items.findOneByOrFail({ name })).version;
    },
    2,
  ],
  'findOneBy() without a match is null': [({ items, name }) => items.findOneBy({ name }), null],
  'findOneByOrFail() without a match rejects': [
    ({ items, name }) => items.findOneByOrFail({ name }),
    EntityNotFoundError,
  ],
  'exists() tells': [async ({ items, name }) => (await items.insert({ name })) && items.existsBy({ name }), true],
  'find() with In, Not and IsNull': [
    async ({ items, name }) => {
      await items.insert([{ name: `${name} a` }, { name: `${name} b`, big: 1 }]);
      const names = [`${name} a`, `${name} b`];
      return [
        await items.countBy({ name: In(names), big: IsNull() }),
        await items.countBy({ name: In(names), big: Not(IsNull()) }),
      ];
    },
    [1, 1],
  ],
  'ILike ignores case': [
    async ({ items, name }) => {
      await items.insert({ name });
      return items.countBy({ name: ILike(name.toUpperCase()) });
    },
    1,
  ],
  'findAndCount() counts past take': [
    async ({ items, name }) => {
      await items.insert([{ name: `${name} a` }, { name: `${name} b` }]);
      const [found, total] = await items.findAndCount({ where: { name: Like(`${name}%`) }, take: 1 });
      return [found.length, total];
    },
    [1, 2],
  ],
  'an order and skip': [
    async ({ items, name }) => {
      await items.insert([{ name: `${name} a` }, { name: `${name} b` }]);
      const where = { name: Like(`${name}%`) };
      return (await items.find({ where, order: { name: 'DESC' }, skip: 1, take: 1 }))[0]!.name.at(-1);
    },
    'a',
  ],
  'a query builder with getRawOne': [
    async ({ items, name }) => {
      await items.insert({ name, big: 5 });
      return items.createQueryBuilder('i').select('i.big', 'big').where('i.name = :name', { name }).getRawOne();
    },
    { big: 5 },
  ],
  'an array of parameters': [
    async ({ items, name }) => {
      await items.insert({ name });
      return items
        .createQueryBuilder('i')
        .where('i.name IN (:...names)', { names: [name] })
        .getCount();
    },
    1,
  ],
  // Types.
  'a uuid is generated': [
    async ({ shelves, name }) => /^[0-9a-f-]{36}$/.test((await shelves.save({ label: name })).id),
    true,
  ],
  'a uuid is found again': [
    async ({ shelves, name }) => {
      const { id } = await shelves.save({ label: name });
      return (await shelves.findOneByOrFail({ id })).label === name;
    },
    true,
  ],
  'a boolean is a boolean': [async ({ items, name }) => (await stored(items, { name, sold: true })).sold, true],
  'simple-json keeps its shape': [
    async ({ items, name }) => (await stored(items, { name, extra: { a: [1, null] } })).extra,
    { a: [1, null] },
  ],
  'a decimal is a string with the digits of its scale': [
    async ({ items, name }) => (await stored(items, { name, price: '12.5' })).price,
    '12.50',
  ],
  'a whole decimal, too': [async ({ items, name }) => (await stored(items, { name, price: '7' })).price, '7.00'],
  ...Object.fromEntries(
    ROUNDED.map(([given, expected]): [string, [Habit, unknown]] => [
      `a decimal of ${String(given)} is rounded to the scale of its column`,
      [async ({ items, name }) => (await stored(items, { name, price: given as string })).price, expected],
    ]),
  ),
  'so it is by update() and save()': [
    async ({ items, name }) => {
      await items.insert({ name });
      await items.update({ name }, { price: '1.005' });
      const updated = await items.findOneByOrFail({ name });
      await items.save({ ...updated, price: '-2.675' });
      return [updated.price, (await items.findOneByOrFail({ name })).price];
    },
    ['1.01', '-2.68'],
  ],
  'a decimal without a scale is rounded to a whole number': [
    async ({ items, name }) => (await stored(items, { name, pieces: '2.5' })).pieces,
    '3',
  ],
  'a decimal that is compared is not rounded': [
    async ({ items, name }) => {
      await items.insert({ name, price: '1.01' });
      return items.countBy({ name, price: '1.005' });
    },
    0,
  ],
  'a decimal of more digits than its column has is an error': [
    ({ items, name }) => items.insert({ name, price: '99999999.995' }),
    TypeORMError,
  ],
  'what is no decimal is an error': [({ items, name }) => items.insert({ name, price: 'cheap' }), TypeORMError],
  'a decimal is compared as a number': [
    async ({ items, name }) => {
      await items.insert({ name, price: '9.50' });
      return items.countBy({ name, price: MoreThan('10') });
    },
    0,
  ],
  'a generated id goes beyond 2^31': [
    async ({ dataSource, items, name }) => {
      await items.insert({ name });
      await dataSource.query(`UPDATE items SET id = ${2 ** 40} WHERE name = '${name}'`);
      return (await items.findOneByOrFail({ name })).id;
    },
    2 ** 40,
  ],
  'a bigint of 2^53 - 1 is a number': [
    async ({ items, name }) => (await stored(items, { name, big: 9007199254740991 })).big,
    9007199254740991,
  ],
  'a negative bigint is a number': [
    async ({ items, name }) => (await stored(items, { name, big: -9007199254740991 })).big,
    -9007199254740991,
  ],
  'a bigint beyond 2^53 is an error, never rounded': [
    ({ items, name }) => stored(items, { name, big: '9007199254740993' }),
    UnsafeIntegerError,
  ],
  'so it is in raw SQL': [
    async ({ dataSource, items, name }) => {
      await items.insert({ name, big: '-9007199254740993' });
      return dataSource.query(`SELECT big FROM items WHERE name = '${name}'`);
    },
    UnsafeIntegerError,
  ],
  'and in SQL without a query runner': [
    async ({ dataSource, items, name }) => {
      await items.insert({ name, big: '9007199254740993' });
      return committed(dataSource).sql`SELECT big FROM items WHERE name = ${name}`;
    },
    UnsafeIntegerError,
  ],
  'in a transaction without one, which it ends': [
    async (context) => {
      const { dataSource, name } = context;
      const outcome = await transaction(dataSource, async (tx) => {
        await tx.sql`INSERT INTO items (name, version, big) VALUES (${name}, 1, ${'-9007199254740993'})`;
        return tx.sql`SELECT big FROM items WHERE name = ${name}`;
      }).catch((error: unknown) => error);
      return [outcome instanceof UnsafeIntegerError, await count(context)];
    },
    [true, 0],
  ],
  'and in a snapshot': [
    async ({ dataSource, items, name }) => {
      await items.insert({ name, big: '9223372036854775807' });
      const snapshot = await openSnapshot(dataSource);
      try {
        return await snapshot.sql`SELECT max(big) AS big FROM items WHERE name = ${name}`;
      } finally {
        snapshot.close();
      }
    },
    UnsafeIntegerError,
  ],
  'a floating-point number is read there however large it is': [
    async ({ dataSource }) => {
      await dataSource.query('CREATE TABLE IF NOT EXISTS large_reals (value double precision)');
      await dataSource.query('INSERT INTO large_reals VALUES (1e16)');
      return committed(dataSource).sql`SELECT value FROM large_reals LIMIT 1`;
    },
    [{ value: 1e16 }],
  ],
  'as text it is exact': [
    async ({ dataSource, items, name }) => {
      await items.insert({ name, big: '9007199254740993' });
      return dataSource.query(`SELECT CAST(big AS text) AS big FROM items WHERE name = '${name}'`);
    },
    [{ big: '9007199254740993' }],
  ],
  'a large floating-point number is read': [
    async ({ dataSource }) => {
      await dataSource.query('CREATE TABLE IF NOT EXISTS reals (value double precision)');
      await dataSource.query('INSERT INTO reals VALUES (1e20)');
      return dataSource.query('SELECT value FROM reals LIMIT 1');
    },
    [{ value: 1e20 }],
  ],
  'a Date keeps its milliseconds': [
    async ({ items, name }) =>
      (await stored(items, { name, deleted: null, created: new Date(1.7e12 + 123) })).created.getTime(),
    1.7e12 + 123,
  ],
  'a CreateDateColumn has milliseconds, and is the time of now': [
    ({ items, name }) => areMomentsOfNow(async (round) => (await stored(items, { name: `${name} ${round}` })).created),
    true,
  ],
  'an UpdateDateColumn has them after update()': [
    async ({ items, name }) => {
      const { id } = await items.save({ name });
      return areMomentsOfNow(async (round) => {
        await items.update({ id }, { big: round });
        return (await items.findOneByOrFail({ id })).updated;
      });
    },
    true,
  ],
  'after save(), which gives the stored moment': [
    async ({ items, name }) => {
      const { id } = await items.save({ name });
      return areMomentsOfNow(async (big) => {
        const { updated } = await items.save({ id, big });
        const found = await items.findOneByOrFail({ name });
        if (updated.getTime() !== found.updated.getTime())
          throw new Error(`${updated.toISOString()} is not what is stored`);
        return updated;
      });
    },
    true,
  ],
  'after a query builder': [
    async ({ items, name }) => {
      await items.insert({ name });
      return areMomentsOfNow(async (big) => {
        await items.createQueryBuilder().update().set({ big }).where({ name }).execute();
        return (await items.findOneByOrFail({ name })).updated;
      });
    },
    true,
  ],
  'after upsert()': [
    async ({ items, name }) =>
      areMomentsOfNow(async (big) => {
        await items.upsert({ name, big }, ['name']);
        return (await items.findOneByOrFail({ name })).updated;
      }),
    true,
  ],
  'a DeleteDateColumn has them, too, after softDelete() and softRemove()': [
    async ({ items, name }) => {
      const item = await items.save({ name });
      return areMomentsOfNow(async (round) => {
        if (round % 2 === 0) await items.softDelete({ name });
        else await items.softRemove(item);
        const { deleted, updated } = await items.findOneOrFail({ where: { name }, withDeleted: true });
        if (deleted!.getTime() !== updated.getTime()) return new Date(0);
        await items.restore({ name });
        return deleted!;
      });
    },
    true,
  ],
  // Errors.
  'a UNIQUE violation is a QueryFailedError': [
    async ({ items, name }) => items.insert([{ name }, { name }]),
    QueryFailedError,
  ],
  'a NOT NULL violation, too': [({ items }) => items.insert({ name: null as unknown as string }), QueryFailedError],
  'a syntax error, too': [({ dataSource }) => dataSource.query('SELEKT 1'), QueryFailedError],
  'a foreign key violation, too': [
    ({ items, name }) => items.insert({ name, shelf: { id: '00000000-0000-4000-8000-000000000000' } }),
    QueryFailedError,
  ],
  // Relations.
  'a cascade inserts children': [
    async ({ shelves, name }) => {
      const { id } = await shelves.save({ label: name, items: [{ name: `${name} a` }, { name: `${name} b` }] });
      return (await shelves.findOneOrFail({ where: { id }, relations: { items: true } })).items.length;
    },
    2,
  ],
  'ON DELETE CASCADE deletes them': [
    async (context) => {
      const { shelves, name } = context;
      const { id } = await shelves.save({ label: name, items: [{ name }] as Item[] });
      await shelves.delete({ id });
      return count(context);
    },
    0,
  ],
  // Transactions.
  'transaction() commits': [
    async (context) => {
      await context.dataSource.transaction((manager) => manager.insert(Item, { name: context.name }));
      return count(context);
    },
    1,
  ],
  'transaction() rolls back, and rejects with the error of its work': [
    ({ dataSource, name }) =>
      dataSource.transaction(async (manager) => {
        await manager.insert(Item, { name });
        throw boom;
      }),
    boom,
  ],
  'a nested transaction that fails takes nothing else along': [
    async (context) => {
      await context.dataSource.transaction(async (manager) => {
        await manager.insert(Item, { name: context.name });
        await manager
          .transaction(async (inner) => {
            await inner.insert(Item, { name: `${context.name} inner` });
            throw boom;
          })
          .catch(() => undefined);
      });
      return count(context);
    },
    1,
  ],
  'a transaction of a query runner, by hand': [
    async (context) => {
      const runner = context.dataSource.createQueryRunner();
      await runner.startTransaction();
      await runner.manager.insert(Item, { name: context.name });
      await runner.rollbackTransaction();
      await runner.release();
      return count(context);
    },
    0,
  ],
  'BEGIN and COMMIT through one query runner': [
    async (context) => {
      const runner = context.dataSource.createQueryRunner();
      await runner.query('BEGIN');
      await runner.manager.query(`INSERT INTO items (name, version) VALUES ('${context.name}', 1)`);
      await runner.query('COMMIT');
      await runner.release();
      return count(context);
    },
    1,
  ],
  'BEGIN through dataSource.query is rejected': [
    ({ dataSource }) => dataSource.query('BEGIN'),
    'Without a query runner of its own',
  ],
  'a query runner released inside a transaction undoes it': [
    async (context) => {
      const runner = context.dataSource.createQueryRunner();
      await runner.startTransaction();
      await runner.manager.insert(Item, { name: context.name });
      await runner.release();
      return count(context);
    },
    0,
  ],
  'a released query runner runs nothing': [
    async ({ dataSource }) => {
      const runner = dataSource.createQueryRunner();
      await runner.release();
      return runner.query('SELECT 1');
    },
    'Query runner already released',
  ],
  'a transaction past its time-out is unavailable': [
    ({ dataSource, name }) =>
      dataSource.transaction(async (manager) => {
        await manager.insert(Item, { name });
        await sleep(2300);
        await manager.insert(Item, { name: `${name} late` });
      }),
    DatabaseUnavailableError,
  ],
  'and says so': [
    ({ dataSource }) => dataSource.transaction(() => sleep(2300)),
    'The transaction took longer than 2000 ms and was rolled back',
  ],
  'a save that is not awaited becomes no transaction of its own': [
    async (context) => {
      let late: Promise<unknown> | undefined;
      await context.dataSource.transaction(async (manager) => {
        late = manager
          .insert(Item, { name: context.name })
          .then(() => manager.insert(Item, { name: `${context.name} b` }));
        late.catch(() => undefined);
        await manager.query('SELECT 1');
      });
      return late;
    },
    'Query runner already released',
  ],
  'a temporary table outside a transaction is rejected': [
    ({ dataSource }) => dataSource.query('CREATE TEMPORARY TABLE items (id integer)'),
    'dataSource.transaction(...)',
  ],
  'a temporary table of a transaction is gone with it, and hides nothing': [
    async (context) => {
      await context.dataSource.transaction(async (manager) => {
        await manager.query('/* for now */ CREATE TEMP TABLE chosen (id integer)');
        await manager.query('CREATE TEMP VIEW chosen_view AS SELECT * FROM chosen');
        await manager.query('INSERT INTO chosen VALUES (1)');
      });
      await context.items.save({ name: context.name });
      const gone = await context.dataSource.query('SELECT * FROM chosen').then(
        () => 'still there',
        ({ message }: Error) => /chosen/.test(message),
      );
      return [gone, await count(context)];
    },
    [true, 1],
  ],
  'pessimistic_write locks inside a transaction': [
    async ({ dataSource, items, name }) => {
      const { id } = await items.save({ name, big: 0 });
      const increment = () =>
        dataSource.transaction(async (manager) => {
          const item = await manager.findOneOrFail(Item, { where: { id }, lock: { mode: 'pessimistic_write' } });
          await manager.update(Item, { id }, { big: Number(item.big) + 1 });
        });
      await Promise.all(Array.from({ length: 10 }, increment));
      return (await items.findOneByOrFail({ id })).big;
    },
    10,
  ],
  'pessimistic_read, by a query builder': [
    ({ dataSource, name }) =>
      dataSource.transaction((manager) =>
        manager.createQueryBuilder(Item, 'i').setLock('pessimistic_read').where('i.name = :name', { name }).getMany(),
      ),
    [],
  ],
  'a lock outside a transaction is rejected': [
    ({ items, name }) => items.findOne({ where: { name }, lock: { mode: 'pessimistic_write' } }),
    'transaction is required',
  ],
  // Raw SQL.
  'a SELECT gives rows': [({ dataSource }) => dataSource.query('SELECT 1 AS one'), [{ one: 1 }]],
  'count(*) is a number': [
    ({ dataSource }) => dataSource.query('SELECT count(*) AS number FROM items WHERE 1 = 0'),
    [{ number: 0 }],
  ],
  'INSERT ... RETURNING gives rows': [
    ({ dataSource, name }) =>
      dataSource.query(`INSERT INTO items (name, version) VALUES ('${name}', 1) RETURNING version`),
    [{ version: 1 }],
  ],
  'UPDATE ... RETURNING gives rows': [
    async ({ dataSource, items, name }) => {
      await items.insert({ name });
      return dataSource.query(`UPDATE items SET big = 4 WHERE name = '${name}' RETURNING big`);
    },
    [{ big: 4 }],
  ],
  'a template binds its values': [
    async ({ dataSource, items, name }) => {
      await items.insert({ name, big: 6 });
      return dataSource.sql`SELECT big FROM items WHERE name = ${name}`;
    },
    [{ big: 6 }],
  ],
};

/** Whether each moment is the time of now, and they are more exact than a second. */
async function areMomentsOfNow(take: (round: number) => Promise<Date>): Promise<true | Date> {
  const milliseconds = new Set<number>();
  for (let round = 0; round < 5; round++) {
    const began = Date.now();
    const moment = await take(round);
    // Servers of PostgreSQL for the tests run on this machine, by the same clock.
    if (moment.getTime() < began - 5 || moment.getTime() > Date.now() + 5) return moment;
    milliseconds.add(moment.getMilliseconds());
    await sleep(7);
  }
  return milliseconds.size > 1 ? true : new Date(0);
}

async function stored(items: Repository<Item>, values: Partial<Item>): Promise<Item> {
  const { identifiers } = await items.insert(values);
  return items.findOneByOrFail({ id: identifiers[0]!['id'] as number });
}

describe(`what ordinary TypeORM code may expect, on ${engineInUse()}`, () => {
  let dataSource: DataSource;

  beforeAll(async () => {
    Logger.overrideLogger(false);
    const folder = temporaryFolder();
    await provideDatabase(folder);
    const config = loadConfig(environmentIn(folder, { DATABASE_TRANSACTION_TIMEOUT: '2000' }));
    dataSource = await createDataSource(config, [Shelf, Item]);
    await dataSource.initialize();
    await migrate(dataSource);
    await dataSource.driver.createSchemaBuilder().build();
  });

  afterAll(() => dataSource.destroy());

  it('compares entities with the schema they made, and finds no difference', async () => {
    expect((await dataSource.driver.createSchemaBuilder().log()).upQueries).toEqual([]);
  });

  it.each(Object.entries(HABITS).map(([what, [habit, expected]], index) => ({ what, habit, expected, index })))(
    '$what',
    async ({ habit, expected, index }) => {
      const items = dataSource.getRepository(Item);
      const shelves = dataSource.getRepository(Shelf);
      const outcome = await habit({ dataSource, items, shelves, name: `habit ${index}` }).catch(
        (error: unknown) => error,
      );
      if (typeof expected === 'function') expect(outcome).toBeInstanceOf(expected);
      else if (outcome instanceof Error && typeof expected === 'string') expect(outcome.message).toContain(expected);
      else expect(outcome).toEqual(expected);
    },
  );
});
