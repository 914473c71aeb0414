import { count, type Habits, Item } from './habits.js';

const boom = new Error('changed my mind');

export const TRANSACTIONS: Habits = {
  'a nested transaction that fails takes nothing else along': async (context) => {
    await context.dataSource.transaction(async (manager) => {
      await manager.insert(Item, { name: context.name });
      await manager
        .transaction(async (inner) => {
          await inner.insert(Item, { name: `${context.name} inner` });
          throw boom;
        })
        .catch(() => undefined);
    });
    expect(await count(context)).toEqual(1);
  },
  'a subscriber that fails at the beginning of a nested transaction takes nothing else along': async (context) => {
    const { dataSource, name } = context;
    await dataSource.transaction(async (manager) => {
      await manager.insert(Item, { name });
      dataSource.subscribers.push({ afterTransactionStart: () => Promise.reject(boom) });
      await manager.transaction((inner) => inner.insert(Item, { name: `${name} inner` })).catch(() => undefined);
      dataSource.subscribers.pop();
    });
    expect(await count(context)).toEqual(1);
  },
  'a subscriber hears of each statement, and whether it succeeded': async ({ dataSource }) => {
    const heard: boolean[] = [];
    dataSource.subscribers.push({ afterQuery: ({ success }) => void heard.push(success) });
    await dataSource.query('SELECT 1');
    await dataSource.query('SELECT missing').catch(() => undefined);
    dataSource.subscribers.pop();
    expect(heard).toEqual([true, false]);
  },
  'a transaction of each isolation level commits': async (context) => {
    const { dataSource, name } = context;
    for (const level of ['READ UNCOMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'] as const) {
      await dataSource.transaction(level, (manager) => manager.insert(Item, { name: `${name} ${level}` }));
    }
    expect(await count(context)).toEqual(4);
  },
  'BEGIN and COMMIT through one query runner': async (context) => {
    const runner = context.dataSource.createQueryRunner();
    await runner.query('BEGIN');
    await runner.manager.query(`INSERT INTO items (name, version) VALUES ('${context.name}', 1)`);
    await runner.query('COMMIT');
    await runner.release();
    expect(await count(context)).toEqual(1);
  },
  'save() after BEGIN of a query runner is rejected, because its COMMIT would end that transaction': async (
    context,
  ) => {
    const runner = context.dataSource.createQueryRunner();
    await runner.query('BEGIN');
    const saved = await runner.manager.save(Item, { name: context.name }).catch(({ message }: Error) => message);
    await runner.query('ROLLBACK');
    await runner.release();
    expect([saved, await count(context)]).toEqual(['This query runner has begun a transaction already', 0]);
  },
  'a temporary table outside a transaction is rejected': ({ dataSource }) =>
    expect(dataSource.query('CREATE TEMPORARY TABLE items (id integer)')).rejects.toThrow(/SET LOCAL|ordinary table/),
  'pessimistic_write locks inside a transaction': async ({ dataSource, items, name }) => {
    const { id } = await items.save({ name, big: 0 });
    const increment = () =>
      dataSource.transaction(async (manager) => {
        const item = await manager.findOneOrFail(Item, { where: { id }, lock: { mode: 'pessimistic_write' } });
        await manager.update(Item, { id }, { big: Number(item.big) + 1 });
      });
    await Promise.all(Array.from({ length: 10 }, increment));
    expect((await items.findOneByOrFail({ id })).big).toEqual(10);
  },
  'a lock outside a transaction is rejected': ({ items, name }) =>
    expect(items.findOne({ where: { name }, lock: { mode: 'pessimistic_write' } })).rejects.toThrow(
      'transaction is required',
    ),
  // Raw SQL.
  'named parameters are an error that says so': ({ dataSource }) =>
    expect(dataSource.query('SELECT :one AS one', { one: 1 })).rejects.toThrow(/named placeholders|as an array/),
  'count(*) is a number': async ({ dataSource }) =>
    expect(await dataSource.query('SELECT count(*) AS number FROM items WHERE 1 = 0')).toEqual([{ number: 0 }]),
  'INSERT ... RETURNING gives rows': async ({ dataSource, name }) =>
    expect(await dataSource.query(`INSERT INTO items (name, version) VALUES ('${name}', 1) RETURNING version`)).toEqual(
      [{ version: 1 }],
    ),
  'UPDATE and DELETE ... RETURNING give rows': async ({ dataSource, items, name }) => {
    await items.insert({ name });
    const updated = await dataSource.query(`UPDATE items SET big = 4 WHERE name = '${name}' RETURNING big`);
    expect([updated, await dataSource.manager.sql`DELETE FROM items WHERE name = ${name} RETURNING big`]).toEqual([
      [{ big: 4 }],
      [{ big: 4 }],
    ]);
  },
};
