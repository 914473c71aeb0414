import {
  Column,
  type DataSource,
  Entity,
  LessThan,
  LessThanOrEqual,
  PrimaryGeneratedColumn,
  Like,
  type QueryRunner,
  type Repository,
  Table,
  TableColumn,
} from 'typeorm';
import { Item, Parcel, Shelf } from './habits.js';

@Entity('samples')
export class Sample {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column('varchar', { length: 5, nullable: true, unique: true })
  text!: unknown;

  @Column('smallint', { nullable: true })
  small!: unknown;

  @Column('uuid', { nullable: true })
  uuid!: unknown;

  @Column('date', { nullable: true })
  day!: unknown;

  @Column('time', { nullable: true })
  time!: unknown;

  @Column('decimal', { precision: 8, scale: 2, nullable: true })
  price!: unknown;

  @Column('decimal', { nullable: true })
  weight!: unknown;

  @Column({ type: Date, nullable: true })
  at!: unknown;

  @Column('simple-enum', { enum: ['small', 'medium', 'large'], nullable: true })
  size!: unknown;
}

interface Difference {
  readonly habit: (samples: Repository<Sample>, dataSource: DataSource) => Promise<unknown>;
  readonly sqlite: unknown;
  readonly postgres: unknown;
}

const REJECTED = expect.objectContaining({ name: 'QueryFailedError' });

const stores = (values: object) => async (samples: Repository<Sample>) => {
  const { id } = await samples.save(values);
  return Object.values(await samples.findOneByOrFail({ id })).filter((value) => value !== null && value !== id);
};

/** The rows of the table "Where the engines differ" in `docs/typeorm.md`. */
export const DIFFERENCES: Readonly<Record<string, Difference>> = {
  'a Date beyond the year 9999': {
    habit: stores({ at: new Date('+012024-05-05T00:00:00Z') }),
    sqlite: expect.objectContaining({ message: expect.stringContaining('its year must be from 0 to 9999') }),
    postgres: [new Date('+012024-05-05T00:00:00Z')],
  },
  'a day in another form': {
    habit: stores({ day: '2026/02/03' }),
    sqlite: expect.any(Error),
    postgres: ['2026-02-03'],
  },
  'a decimal without a precision, given as "1.50"': {
    habit: stores({ weight: '1.50' }),
    sqlite: ['1.5'],
    postgres: ['1.50'],
  },
  'a decimal without a precision, of more than 15 digits': {
    habit: stores({ weight: '1e400' }),
    sqlite: expect.objectContaining({ message: expect.stringContaining('has more than 15 digits') }),
    postgres: [`1${'0'.repeat(400)}`],
  },
  'several statements in one string': {
    habit: async (_samples, dataSource) => typeof (await dataSource.query('SELECT 1; SELECT 2')),
    sqlite: expect.objectContaining({ message: expect.stringContaining('more than one statement') }),
    postgres: 'object',
  },
  'raw rows': {
    habit: async (samples, dataSource) => {
      await samples.insert({ price: '1.50', day: '2026-01-31' });
      const [row] = await dataSource.query('SELECT price, day, 1 = 1 AS yes FROM samples WHERE price IS NOT NULL');
      const [{ sum }] = await dataSource.query('SELECT SUM(CAST(id AS bigint)) - MAX(id) + 7 AS sum FROM samples');
      return [row.price, sum, row.day instanceof Date, row.yes];
    },
    sqlite: [1.5, 7, false, 1],
    postgres: ['1.50', '7', true, true],
  },
  'clear() of a table that others refer to': {
    habit: async (_samples, dataSource) => {
      await dataSource.getRepository(Shelf).save({ label: 'cleared', items: [{ name: 'on a shelf' }] });
      await dataSource.getRepository(Shelf).clear();
      return dataSource.getRepository(Item).countBy({ name: 'on a shelf' });
    },
    sqlite: 0,
    postgres: REJECTED,
  },
  'returning()': {
    habit: async (samples) =>
      (await samples.createQueryBuilder().update({ small: 1 }).returning('id').execute()).raw.length >= 0,
    sqlite: expect.any(Error),
    postgres: true,
  },
  'upsert() of one key twice': {
    habit: async (samples) => {
      const twice = [1, 2].map((small) => ({ text: 'twice', small }));
      await samples.upsert(twice, ['text']);
      return (await samples.findOneByOrFail({ text: 'twice' })).small;
    },
    sqlite: 2,
    postgres: REJECTED,
  },
  'upper case in a uuid': {
    habit: stores({ uuid: 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11' }),
    sqlite: ['A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'],
    postgres: ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
  },
  'Like, in another case': {
    habit: async (samples) => {
      await samples.insert({ text: 'Case' });
      return samples.countBy({ text: Like('cas%') });
    },
    sqlite: 1,
    postgres: 0,
  },
  'null in an ascending order': {
    habit: async (samples) => {
      await samples.insert([{ small: 1 }, {}]);
      return (await samples.find({ order: { small: 'ASC' } })).map(({ small }) => small);
    },
    sqlite: [null, 1],
    postgres: [1, null],
  },
  'a caught unique violation inside a transaction': {
    habit: (_samples, dataSource) =>
      dataSource.transaction(async (manager) => {
        await manager.insert(Sample, { text: 'same' });
        await manager.insert(Sample, { text: 'same' }).catch(() => undefined);
        await manager.insert(Sample, { text: 'other' });
        return manager.count(Sample);
      }),
    sqlite: 2,
    postgres: REJECTED,
  },
  'the identifiers of an insert that orIgnore() has left out': {
    habit: async (samples) => {
      await samples.insert({ text: 'same' });
      const { identifiers } = await samples.createQueryBuilder().insert().values({ text: 'same' }).orIgnore().execute();
      return identifiers.filter(Boolean).length;
    },
    sqlite: 1,
    postgres: 0,
  },
  'the uuid of a row that upsert() has updated': {
    habit: async (_samples, dataSource) => {
      const parcels = dataSource.getRepository(Parcel);
      const label = 'a row that upsert() has updated';
      const { id } = await parcels.save({ label });
      return (await parcels.upsert({ label }, ['label'])).identifiers[0]!['id'] === id;
    },
    sqlite: false,
    postgres: true,
  },
  'overwriteCondition of an upsert': {
    habit: async (samples) => {
      await samples.insert({ text: 'old', small: 5 });
      const overwriteCondition = { where: { small: LessThan(3) } };
      const insert = samples.createQueryBuilder().insert().values({ text: 'old', small: 7 });
      await insert.orUpdate(['small'], ['text'], { overwriteCondition }).execute();
      return (await samples.findOneByOrFail({ text: 'old' })).small;
    },
    sqlite: expect.objectContaining({ message: expect.stringContaining('no overwriteCondition for SQLite') }),
    postgres: 5,
  },
  'skipUpdateIfNoValuesChanged of an upsert': {
    habit: async (_samples, dataSource) => {
      const items = dataSource.getRepository(Item);
      const name = 'skipUpdateIfNoValuesChanged of an upsert';
      const updated = new Date('2026-01-31T12:00:00Z');
      await items.insert({ name, updated });
      await items.upsert({ name, sold: false }, { conflictPaths: ['name'], skipUpdateIfNoValuesChanged: true });
      return (await items.findOneByOrFail({ name })).updated.getTime() === updated.getTime();
    },
    sqlite: false,
    postgres: true,
  },
  'a pessimistic lock of a query with relations': {
    habit: (_samples, dataSource) =>
      dataSource.transaction(async (manager) => {
        const query = { where: { name: 'none' }, relations: { shelf: true } };
        await manager.find(Item, { ...query, lock: { mode: 'pessimistic_write', tables: ['items'] } });
        await manager.find(Item, { ...query, lock: { mode: 'pessimistic_write' } });
        return 'found';
      }),
    sqlite: 'found',
    postgres: expect.objectContaining({ message: expect.stringContaining('FOR UPDATE cannot be applied') }),
  },
  'count() of several selected columns': {
    habit: async (samples) => {
      await samples.insert([{ small: 1 }, { small: 1 }, { small: 2, price: '1.00' }]);
      return samples.count({ select: { small: true, price: true } });
    },
    sqlite: 1,
    postgres: 2,
  },
  'distinctOn()': {
    habit: async (samples) => {
      await samples.insert([{ small: 1 }, { small: 1 }, { small: 2 }]);
      return (await samples.createQueryBuilder('sample').distinctOn(['sample.small']).getMany()).length;
    },
    sqlite: expect.objectContaining({ message: expect.stringContaining('no DISTINCT ON') }),
    postgres: 2,
  },
  'increments of a decimal': {
    habit: async (samples) => {
      await samples.insert({ price: '0.1' });
      await samples.increment({ price: '0.1' }, 'price', 0.2);
      return samples.countBy({ price: '0.3' });
    },
    sqlite: 0,
    postgres: 1,
  },
  'an instant compared with a text of toISOString()': {
    habit: async (samples) => {
      const at = new Date('2026-01-31T12:00:00Z');
      await samples.insert({ at });
      const before = (moment: unknown) =>
        samples.createQueryBuilder('s').where('s.at < :moment', { moment }).getCount();
      return [await before(at), await before(at.toISOString())];
    },
    sqlite: [0, 1],
    postgres: [0, 0],
  },
  'an array as a parameter of raw SQL': {
    habit: async (_samples, dataSource) => dataSource.sql`SELECT CAST(${[1, 2]} AS text) AS list`,
    sqlite: expect.objectContaining({ message: expect.stringContaining('SQLite takes no array as a parameter') }),
    postgres: [{ list: '{"1","2"}' }],
  },
  'an instant compared with an object of a date library': {
    habit: async (samples) => {
      const at = new Date('2026-01-31T12:00:00Z');
      await samples.insert({ at });
      // As those of Day.js, Luxon and Moment.
      return samples.countBy({ at: { toJSON: () => at.toJSON() } });
    },
    sqlite: expect.objectContaining({ message: expect.stringContaining('give a Date or a text') }),
    postgres: 1,
  },
  'an instant from an object of a date library': {
    habit: stores({ at: { toJSON: () => '2026-01-31T12:00:00Z' } }),
    sqlite: expect.objectContaining({ message: expect.stringContaining('is no instant: use a Date') }),
    postgres: [new Date('2026-01-31T12:00:00Z')],
  },
  'the order of the values of a simple-enum': {
    habit: async (samples) => {
      await samples.insert([{ size: 'medium' }, { size: 'small' }, { size: 'large' }]);
      return (await samples.find({ order: { size: 'ASC' } })).map(({ size }) => size);
    },
    sqlite: ['large', 'medium', 'small'],
    postgres: ['small', 'medium', 'large'],
  },
  'a simple-enum compared with another value': {
    habit: (samples) => samples.countBy({ size: 'giant' }),
    sqlite: 0,
    postgres: REJECTED,
  },
  'a simple-enum whose new value is written in the transaction that adds it, or by way of a text': {
    habit: async (_samples, dataSource) => {
      const grade = (...values: string[]) =>
        new TableColumn({ name: 'grade', type: 'simple-enum', enum: values, default: `'${values.at(-1)}'` });
      const migrate = (work: (runner: QueryRunner) => Promise<unknown>) =>
        dataSource.transaction(({ queryRunner }) => work(queryRunner!));
      const rename = (column: TableColumn) =>
        migrate(async (runner) => {
          await runner.changeColumn('vials', 'grade', column);
          await runner.query(`UPDATE vials SET grade = 'good' WHERE grade = 'old'`);
          await runner.changeColumn('vials', 'grade', grade('good'));
          return runner.query('SELECT grade FROM vials');
        });
      const outcomes: unknown[] = [];
      for (const column of [grade('good', 'old'), new TableColumn({ name: 'grade', type: 'varchar' })]) {
        await migrate((runner) => runner.createTable(new Table({ name: 'vials', columns: [grade('old')] })));
        await dataSource.query('INSERT INTO vials DEFAULT VALUES');
        outcomes.push(await rename(column).catch(({ message }: Error) => message));
        await migrate((runner) => runner.dropTable('vials'));
      }
      return outcomes;
    },
    sqlite: [[{ grade: 'good' }], [{ grade: 'good' }]],
    postgres: [expect.stringContaining('unsafe use of new value "good"'), [{ grade: 'good' }]],
  },
  'a day compared with a Date': {
    habit: async (samples) => {
      await samples.insert({ day: '2026-01-31' });
      return samples.countBy({ day: new Date('2026-01-31T23:30:00Z') });
    },
    sqlite: 0,
    postgres: 1,
  },
  'a time compared with a text without seconds': {
    habit: async (samples) => {
      await samples.insert({ time: '08:00' });
      return samples.countBy({ time: LessThanOrEqual('08:00') });
    },
    sqlite: 0,
    postgres: 1,
  },
  'an empty list of parameters in IN (:...ids)': {
    habit: async (samples) => samples.createQueryBuilder('sample').where('id IN (:...ids)', { ids: [] }).getCount(),
    sqlite: 0,
    postgres: REJECTED,
  },
  'an expression compared with a value of another type': {
    habit: async (samples) => {
      await samples.insert({ text: '5', price: '9.50' });
      const matches = (condition: string, value: unknown) =>
        samples.createQueryBuilder('sample').where(condition, { value }).getCount();
      return [
        await matches('sample.price > :value', '3.00'),
        await matches('sample.price * 2 > :value', '3.00'),
        await matches('sample.price * 2 > CAST(:value AS decimal)', '3.00'),
        await matches('LOWER(sample.text) = :value', 5),
      ];
    },
    sqlite: [1, 0, 1, 0],
    postgres: [1, 1, 1, 1],
  },
  'a boolean compared with a text': {
    habit: async (_samples, dataSource) => {
      const items = dataSource.getRepository(Item);
      const name = 'a boolean compared with a text';
      await items.insert({ name, sold: true });
      const sold = 'true' as unknown as boolean;
      return [await items.countBy({ name, sold: true }), await items.countBy({ name, sold })];
    },
    sqlite: [1, 0],
    postgres: [1, 1],
  },
  'increment() of an integer by a fraction': {
    habit: async (samples) => {
      await samples.insert({ small: 1 });
      await samples.increment({ small: 1 }, 'small', 0.5);
      return (await samples.findOneByOrFail({})).small;
    },
    sqlite: 1.5,
    postgres: 2,
  },
  'the result of a raw UPDATE': {
    habit: (_samples, dataSource) => dataSource.query('UPDATE samples SET small = 1'),
    sqlite: expect.any(Number),
    postgres: [],
  },
};
