import { setTimeout } from 'node:timers/promises';
import { type DataSource, EntitySchema, QueryRunnerAlreadyReleasedError } from 'typeorm';
import { migrate } from '../../src/database/schema/migrations.js';
import { createDatabase, describeEngines } from '../support/engine.js';
import { openDataSource, warningsDuring } from '../support/data-source.js';
import { temporaryFolder } from '../support/service.js';
import { DIFFERENCES, Sample } from './differences.js';
import { Item, Parcel, Shelf } from './habits.js';
import { RECORDS } from './records.js';
import { TRANSACTIONS } from './transactions.js';
import { TYPES } from './types.js';

describeEngines('ordinary TypeORM code', (engine) => {
  let dataSource: DataSource;

  beforeAll(async () => {
    const url = engine === 'postgres' && { DATABASE_URL: await createDatabase(`habits_${process.pid}`) };
    dataSource = await openDataSource({ ...url }, [Shelf, Item, Parcel, Sample]);
    await migrate(dataSource);
    await dataSource.driver.createSchemaBuilder().build();
  });

  afterAll(() => dataSource.destroy());

  it('has entities that are equal to the schema they made', async () => {
    expect((await dataSource.driver.createSchemaBuilder().log()).upQueries).toEqual([]);
  });

  describe.each(Object.entries({ records: RECORDS, transactions: TRANSACTIONS, types: TYPES }))(
    '%s',
    (group, habits) => {
      it.each(Object.entries(habits).map(([what, habit], index) => ({ what, habit, index })))(
        '$what',
        async ({ habit, index }) => {
          const items = dataSource.getRepository(Item);
          const shelves = dataSource.getRepository(Shelf);
          await habit({ dataSource, items, shelves, name: `${group} ${index}` });
        },
      );
    },
  );

  describe('where the engines differ', () => {
    beforeEach(() => dataSource.getRepository(Sample).createQueryBuilder().delete().execute());

    it.each(Object.entries(DIFFERENCES))('%s', async (_what, { habit, [engine]: expected }) => {
      const outcome = await habit(dataSource.getRepository(Sample), dataSource).catch((error: unknown) => error);
      expect(outcome).toEqual(expected);
    });
  });

  it('logs a statement that was not awaited and comes after the end of its transaction', async () => {
    let late: Promise<unknown> | undefined;
    const warnings = await warningsDuring(async () => {
      await dataSource.transaction((manager) => {
        late = setTimeout(50).then(() =>
          Promise.allSettled([manager.query('SELECT 1'), manager.findBy(Item, { name: 'late' })]),
        );
        return manager.query('SELECT 2');
      });
      const isRejected = { status: 'rejected', reason: expect.any(QueryRunnerAlreadyReleasedError) };
      expect(await late).toEqual([isRejected, isRejected]);
    });
    const line = (sql: string) => expect.stringMatching(`^A statement came after .* was not run; .*: SELECT ${sql}`);
    expect(warnings).toEqual([line('1$'), line('"Item"')]);
  });

  it('lets dropDatabase() remove every table, so that they can be made again', async () => {
    await dataSource.dropDatabase();
    await migrate(dataSource);
    await dataSource.driver.createSchemaBuilder().build();
    expect(await dataSource.getRepository(Item).count()).toBe(0);
  });

  it('generates one dropped and one new column as a rename, which keeps the values, and two of each as others', async () => {
    const folder = temporaryFolder();
    const url = engine === 'postgres' && { DATABASE_URL: await createDatabase(`crates_${process.pid}`) };
    const crateAfter = async (names: readonly string[], sql = 'SELECT * FROM crates'): Promise<unknown> => {
      const texts = names.map((name) => [name, { type: 'varchar', nullable: true }]);
      const columns = { id: { type: 'integer', primary: true }, ...Object.fromEntries(texts) };
      await using crates = await openDataSource(
        { ...url },
        [new EntitySchema({ name: 'crates', columns }) as never],
        folder,
      );
      await crates.driver.createSchemaBuilder().build();
      return await crates.query(sql);
    };
    await crateAfter(['phone', 'street'], `INSERT INTO crates VALUES (1, '555', 'Elm')`);
    expect(await crateAfter(['email', 'street'])).toEqual([{ id: 1, email: '555', street: 'Elm' }]);
    expect(await crateAfter(['town', 'zip'])).toEqual([{ id: 1, town: null, zip: null }]);
  });
});
