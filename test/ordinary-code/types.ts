import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource, Like, MoreThan, type Repository, TypeORMError } from 'typeorm';
import { UnsafeIntegerError } from '../../src/database/errors.js';
import { constraintViolation } from '../../src/database/constraint-violation.js';
import { committed, openSnapshot, transaction } from '../../src/database/engine.js';
import { count, type Habit, type Habits, type Item, Parcel, stored } from './habits.js';

/** PostgreSQL rounds a decimal half away from zero (https://www.postgresql.org/docs/current/datatype-numeric.html). */
const ROUNDED: readonly [given: string | number, stored: string][] = [
  ['1.005', '1.01'],
  ['-1.005', '-1.01'],
  ['-0.004', '0.00'],
  ['9.995', '10.00'],
  ['12.5', '12.50'],
  ['.5', '0.50'],
  [' +1.5 ', '1.50'],
  ['1.25e1', '12.50'],
  [1e-7, '0.00'],
  [0.1 + 0.2, '0.30'],
  ['99999999.99', '99999999.99'],
  ['0.12345678901234567890', '0.12'],
];

/** Ways to update an item by its name. */
const UPDATES: Record<string, (items: Repository<Item>, name: string, big: number) => Promise<unknown>> = {
  'update()': (items, name, big) => items.update({ name }, { big }),
  'a query builder': (items, name, big) => items.createQueryBuilder().update().set({ big }).where({ name }).execute(),
  'upsert()': (items, name, big) => items.upsert({ name, big }, ['name']),
};

/** Ways to read an item by SQL. */
const READERS: Record<string, (dataSource: DataSource, name: string) => Promise<unknown>> = {
  'in raw SQL': (dataSource, name) => dataSource.query(`SELECT big FROM items WHERE name = '${name}'`),
  'in SQL without a query runner': (dataSource, name) =>
    committed(dataSource).sql`SELECT big FROM items WHERE name = ${name}`,
  'in a snapshot': async (dataSource, name) => {
    using snapshot = await openSnapshot(dataSource);
    await snapshot.sql`SELECT max(big) AS big FROM items WHERE name = ${name}`;
  },
};

export const TYPES: Habits = {
  ...Object.fromEntries(
    ROUNDED.map(([given, expected]): [string, Habit] => [
      `a decimal of ${String(given)} is rounded to the scale of its column`,
      async ({ items, name }) =>
        expect((await stored(items, { name, price: given as string })).price).toEqual(expected),
    ]),
  ),
  'so it is by update() and save()': async ({ items, name }) => {
    await items.insert({ name });
    await items.update({ name }, { price: '1.005' });
    const updated = await items.findOneByOrFail({ name });
    await items.save({ ...updated, price: '-2.675' });
    expect([updated.price, (await items.findOneByOrFail({ name })).price]).toEqual(['1.01', '-2.68']);
  },
  'a default that an entity gives as a text has the type of its column': async ({ items, name }) => {
    const { price, sold } = await stored(items, { name });
    expect([price, sold]).toEqual(['0.00', false]);
  },
  'a decimal without a scale is rounded to a whole number': async ({ items, name }) =>
    expect((await stored(items, { name, pieces: '2.5' })).pieces).toEqual('3'),
  'a decimal without a precision keeps its digits, and has no exponent': async ({ items, name }) => {
    const given = ['1.005', 12.5, 1e-7, '-2.5E-7', '123456789012345', 10n] as unknown[] as string[];
    const each = given.map((weight, index) => stored(items, { name: `${name} ${index}`, weight }));
    const expected = ['1.005', '12.5', '0.0000001', '-0.00000025', '123456789012345', '10'];
    expect((await Promise.all(each)).map(({ weight }) => weight)).toEqual(expected);
  },
  'a Date in a date column is its day in the time zone of the process': async ({ items, name }) => {
    const dates = [new Date(2026, 2, 8), new Date(2026, 2, 8, 23, 59)] as unknown[] as string[];
    const each = dates.map((day, index) => stored(items, { name: `${name} ${index}`, day }));
    expect((await Promise.all(each)).map(({ day }) => day)).toEqual(['2026-03-08', '2026-03-08']);
    await items.update({ name: `${name} 0` }, { day: new Date(2026, 10, 1, 1, 30) as unknown as string });
    expect((await items.findOneByOrFail({ name: `${name} 0` })).day).toEqual('2026-11-01');
  },
  'a decimal that is compared is not rounded': async ({ items, name }) => {
    await items.insert({ name, price: '1.01' });
    expect(await items.countBy({ name, price: '1.005' })).toEqual(0);
  },
  'a decimal of more digits than its column has is an error': ({ items, name }) =>
    expect(items.insert({ name, price: '99999999.995' })).rejects.toBeInstanceOf(TypeORMError),
  'a BigInt of more digits than its column has is an error, too': ({ items, name }) =>
    expect(items.insert({ name, price: 12_345_678_901n as unknown as string })).rejects.toBeInstanceOf(TypeORMError),
  'what is no decimal is an error': ({ items, name }) =>
    expect(items.insert({ name, price: 'cheap' })).rejects.toBeInstanceOf(TypeORMError),
  'a decimal is compared as a number': async ({ items, name }) => {
    await items.insert({ name, price: '9.50' });
    expect(await items.countBy({ name, price: MoreThan('10') })).toEqual(0);
  },
  'a generated id goes beyond 2^31': async ({ dataSource, items, name }) => {
    await items.insert({ name });
    await dataSource.query(`UPDATE items SET id = ${2 ** 40} WHERE name = '${name}'`);
    expect((await items.findOneByOrFail({ name })).id).toEqual(2 ** 40);
  },
  'an integer goes beyond 2^31': async ({ dataSource, name }) => {
    const parcels = dataSource.getRepository(Parcel);
    await parcels.save({ label: name, euros: 2 ** 31, note: '' });
    expect((await parcels.findOneByOrFail({ label: name })).euros).toEqual(2 ** 31);
  },
  'a bigint of 2^53 - 1, positive or negative, is a number': async ({ items, name }) => {
    const largest = Number.MAX_SAFE_INTEGER;
    const each = [largest, -largest].map((big) => stored(items, { name: `${name} ${big}`, big }));
    expect((await Promise.all(each)).map(({ big }) => big)).toEqual([9007199254740991, -9007199254740991]);
  },
  'a bigint beyond 2^53 is an error, never rounded': ({ items, name }) =>
    expect(stored(items, { name, big: '9007199254740993' })).rejects.toBeInstanceOf(UnsafeIntegerError),
  ...Object.fromEntries(
    Object.entries(READERS).map(([where, read]): [string, Habit] => [
      `so it is ${where}`,
      async ({ dataSource, items, name }) => {
        await items.insert({ name, big: '-9007199254740993' });
        await expect(read(dataSource, name)).rejects.toBeInstanceOf(UnsafeIntegerError);
      },
    ]),
  ),
  'a lean transaction is undone by an integer that it cannot read': async (context) => {
    const { dataSource, name } = context;
    const work = transaction(dataSource, async (tx) => {
      await tx.sql`INSERT INTO items (name, version, big) VALUES (${name}, 1, ${'-9007199254740993'})`;
      await tx.sql`SELECT big FROM items WHERE name = ${name}`;
    });
    await expect(work).rejects.toBeInstanceOf(UnsafeIntegerError);
    expect(await count(context)).toEqual(0);
  },
  'a floating-point number is read in SQL however large it is': async ({ dataSource }) => {
    await dataSource.query('CREATE TABLE IF NOT EXISTS large_reals (value double precision)');
    await dataSource.query('INSERT INTO large_reals VALUES (1e16)');
    expect(await committed(dataSource).sql`SELECT value FROM large_reals LIMIT 1`).toEqual([{ value: 1e16 }]);
  },
  'as one is that an expression computes': async ({ dataSource }) =>
    expect(await committed(dataSource).sql`SELECT CAST('1e16' AS double precision) AS value`).toEqual([
      { value: 1e16 },
    ]),
  'as text it is exact': async ({ dataSource, items, name }) => {
    await items.insert({ name, big: '9007199254740993' });
    expect(await dataSource.query(`SELECT CAST(big AS text) AS big FROM items WHERE name = '${name}'`)).toEqual([
      { big: '9007199254740993' },
    ]);
  },
  'half of an emoji becomes U+FFFD, and is found': async ({ items, name }) => {
    const cut = `${name} 🍪`.slice(0, -1);
    const { id, name: text } = await stored(items, { name: cut });
    expect([text, (await items.findOneBy({ name: cut }))?.id]).toEqual([`${name} \ufffd`, id]);
  },
  'a boolean given as a text or a number is that of PostgreSQL': async ({ items, name }) => {
    const given = ['true', 'f', 1, 0, ' on '] as unknown[] as boolean[];
    const each = given.map((sold, index) => stored(items, { name: `${name} ${index}`, sold }));
    expect((await Promise.all(each)).map(({ sold }) => sold)).toEqual([true, false, true, false, true]);
  },
  ...Object.fromEntries(
    Object.entries<object>({
      'a text that is no boolean': { sold: 'sold' },
      'a BigInt as an instant': { created: 10n },
      'a text that is no instant': { created: 'today' },
      'milliseconds as an instant': { created: 1.7e12 },
      'NaN as a number': { big: NaN },
      'a fraction as a whole number': { big: 1.5 },
      'a text that is no whole number': { big: '1 day' },
      'a text that is no number': { rate: '1,5' },
      'a Date as a whole number': { big: new Date() },
      'a number beyond 64 bits': { big: 2 ** 63 },
      'a number beyond 16 bits': { small: 2 ** 15 },
      'an impossible day': { day: '2026-02-31' },
      'an impossible time': { time: '25:00' },
      'milliseconds as a day': { day: 1.7e12 },
      'minutes as a time': { time: 390 },
      'NUL in a text': { extra: { a: 1 }, code: 'a\0' },
      'a text that is no uuid': { shelf: { id: 'garbage' } },
      'a fraction as a generated id': { id: 1.5 },
    }).map(([what, values]): [string, Habit] => [
      `${what} is an error of the value`,
      ({ items, name, dataSource }) => expectErrorOfValue(items.insert({ name, ...values }), dataSource),
    ]),
  ),
  'a text of more characters than its column has is an error, and one of as many is stored': async ({
    items,
    name,
  }) => {
    expect((await stored(items, { name, code: '🍪🍪🍪' })).code).toBe('🍪🍪🍪');
    const error = await items.update({ name }, { code: 'four' }).catch((reason: Error) => reason.constructor.name);
    expect(error).toMatch(/^(QueryFailed|UnstorableValue)Error$/);
  },
  'the ends of a whole number, a day with a time behind it and a time without seconds are stored as by PostgreSQL':
    async ({ items, name }) => {
      const values = { small: -(2 ** 15), day: '2026-01-31T23:00:00-05:00', time: '06:30', extra: ['\0'] };
      const { small, day, time, extra } = await stored(items, { name, ...values });
      expect([small, day, time, extra]).toEqual([-32_768, '2026-01-31', '06:30:00', ['\0']]);
    },
  'NaN in a condition is an error of the value': ({ items, name, dataSource }) =>
    expectErrorOfValue(items.findBy({ name, big: NaN }), dataSource),
  'a number larger than all others can be compared': async ({ items, name }) => {
    await items.insert({ name, version: 1 });
    const named = items.createQueryBuilder('item').where({ name });
    const below = [Infinity, -Infinity].map((most) => named.clone().andWhere('item.price < :most', { most }));
    expect(await Promise.all(below.map((query) => query.getCount()))).toEqual([1, 0]);
  },
  'a negative parameter after a minus ends no statement': async ({ items, name }) => {
    await items.insert([
      { name, big: 1 },
      { name: `${name} b`, big: 1 },
    ]);
    const update = items
      .createQueryBuilder()
      .update()
      .set({ big: () => 'big-:sold' });
    await update.where({ name }).setParameter('sold', -2).execute();
    const found = await items.find({ where: { name: Like(`${name}%`) }, order: { id: 'ASC' } });
    expect(found.map(({ big }) => big)).toEqual([3, 1]);
  },
  'an object as a parameter of raw SQL is JSON': async ({ dataSource, items, name }) => {
    await items.insert({ name });
    await dataSource.sql`UPDATE items SET extra = ${{ a: [1] }} WHERE name = ${name}`;
    expect((await items.findOneByOrFail({ name })).extra).toEqual({ a: [1] });
  },
  'a whole number as a parameter is one, also as a text and in a division': async ({ dataSource, items, name }) => {
    const { id } = await items.save({ name, big: 7 });
    await items.save({ name: '12345', big: 0 });
    const half = items
      .createQueryBuilder()
      .update()
      .set({ big: () => 'big / :two' });
    await half.setParameter('two', 2).where({ id }).execute();
    await dataSource.sql`UPDATE items SET name = ${67890} WHERE id = ${id}`;
    const found = await items.createQueryBuilder('item').where('item.name = :code', { code: 12345 }).getCount();
    const { name: text, big } = await items.findOneByOrFail({ id });
    expect([found, text, big]).toEqual([1, '67890', 3]);
  },
  'a Date keeps its milliseconds': async ({ items, name }) => {
    const created = new Date(1.7e12 + 123);
    expect((await stored(items, { name, created })).created).toEqual(created);
  },
  'a text as an instant is read as by Date: a day is in UTC, and .5 is half a second': async ({ items, name }) => {
    const texts = ['2026-01-31', '2026-01-31T12:00:00.5', '2026-01-31T12:00:00+05:45'];
    const each = texts.map((text, index) => stored(items, { name: `${name} ${index}`, created: text as never }));
    expect((await Promise.all(each)).map(({ created }) => created)).toEqual(texts.map((text) => new Date(text)));
  },
  'raw SQL takes a Date and a boolean as parameters': async ({ dataSource, items, name }) => {
    const moments = [1, 2, 3].map((milliseconds) => new Date(1.7e12 + milliseconds));
    for (const [index, created] of moments.entries())
      await items.insert({ name: `${name} ${index}`, created, sold: true });
    const count = await dataSource.sql<{ count: number }[]>`
      SELECT count(*) AS count FROM items
      WHERE created >= ${moments[1]} AND created < ${moments[2]} AND sold = ${true} AND name LIKE ${`${name} %`}`;
    expect(Number(count[0]!.count)).toEqual(1);
  },
  'a CreateDateColumn has milliseconds, and is the time of now': ({ items, name }) =>
    expectMomentsOfNow(async (round) => (await stored(items, { name: `${name} ${round}` })).created),
  ...Object.fromEntries(
    Object.entries(UPDATES).map(([how, update]): [string, Habit] => [
      `an UpdateDateColumn has them after ${how}`,
      async ({ items, name }) => {
        await items.insert({ name });
        await expectMomentsOfNow(async (big) => {
          await update(items, name, big);
          return (await items.findOneByOrFail({ name })).updated;
        });
      },
    ]),
  ),
  'a text with = CURRENT_TIMESTAMP stays as it is in an UPDATE': async ({ dataSource, items, name }) => {
    const { id } = await items.save({ name });
    await dataSource.query(`UPDATE items SET name = 'it''s = CURRENT_TIMESTAMP' WHERE id = ${id}`);
    const found = (await items.findOneByOrFail({ id })).name;
    await items.delete({ id });
    expect(found).toEqual("it's = CURRENT_TIMESTAMP");
  },
  'an UpdateDateColumn has them after save(), which gives the stored moment': async ({ items, name }) => {
    const { id } = await items.save({ name });
    await expectMomentsOfNow(async (big) => {
      const { updated } = await items.save({ id, big });
      expect(updated).toEqual((await items.findOneByOrFail({ name })).updated);
      return updated;
    });
  },
  'a DeleteDateColumn has them, too, after softDelete() and softRemove()': async ({ items, name }) => {
    const item = await items.save({ name });
    await expectMomentsOfNow(async (round) => {
      if (round % 2 === 0) await items.softDelete({ name });
      else await items.softRemove(item);
      const { deleted, updated } = await items.findOneOrFail({ where: { name }, withDeleted: true });
      expect(deleted).toEqual(updated);
      await items.restore({ name });
      return deleted!;
    });
  },
};

async function expectErrorOfValue(work: Promise<unknown>, { entityMetadatas }: DataSource): Promise<void> {
  const error = await work.catch((reason: unknown) => reason);
  expect(constraintViolation(error, entityMetadatas)?.kind).toBe('value');
}

/** Expects each date to be the current time, with milliseconds. */
async function expectMomentsOfNow(take: (round: number) => Promise<Date>): Promise<void> {
  const milliseconds = new Set<number>();
  for (let round = 0; round < 5; round++) {
    const began = Date.now();
    const moment = await take(round);
    // The PostgreSQL servers of the tests run on this machine and have the same clock.
    expect(moment.getTime()).toBeGreaterThanOrEqual(began - 5);
    expect(moment.getTime()).toBeLessThanOrEqual(Date.now() + 5);
    milliseconds.add(moment.getMilliseconds());
    await sleep(7);
  }
  expect(milliseconds.size).toBeGreaterThan(1);
}
