import { setTimeout as sleep } from 'node:timers/promises';
import {
  BeforeInsert,
  Check,
  Column,
  type DataSource,
  Entity,
  Generated,
  Index,
  ManyToOne,
  QueryFailedError,
  type QueryRunner,
} from 'typeorm';
import { Cookie } from '../../src/cookies/cookie.entity.js';
import { COOKIE as COOKIE_RESOURCE } from '../../src/cookies/cookie.values.js';
import { migrate } from '../../src/database/schema/migrations.js';
import { transaction } from '../../src/database/engine.js';
import { isOneOf, References, ResourceEntity, type StoredRecord } from '../../src/resource/resource-entity.js';
import { ResourceName } from '../../src/resource/resource.js';
import { wholeArray } from '../../src/resource/lists/json-array.js';
import { etagOf, Preconditions } from '../../src/resource/preconditions.js';
import {
  createResourceTable,
  dropResourceTable,
  renameResourceTable,
} from '../../src/resource/store/resource-migration.js';
import { ResourceRepository } from '../../src/resource/store/resource-repository.js';
import type { SortPosition } from '../../src/resource/store/selection.js';
import type { Version } from '../../src/resource/resource-entity.js';
import { prepareStorage } from '../../src/resource/usage/storage-row.js';
import { StorageFullError, UsageCounter } from '../../src/resource/usage/usage-counter.js';
import { openDataSource } from '../support/data-source.js';
import { engineInUse, provideDatabase } from '../support/engine.js';
import { COOKIE, temporaryFolder } from '../support/service.js';

const SAMPLE = new ResourceName('sample');
const TWIN = new ResourceName('twin');

/** On SQLite, writing transactions run one at a time. */
const onPostgres = engineInUse() === 'postgres' ? it : it.skip;

/** An entity with every supported type of column. */
@Entity('samples')
@Check('samples_colour', isOneOf('colour', ['red', 'deep blue']))
class Sample extends ResourceEntity {
  @Column('varchar')
  text!: string;

  @Column('varchar', { name: 'other_name', nullable: true })
  note!: string | null;

  @Column('varchar', { nullable: true })
  colour!: string | null;

  @Column('integer', { nullable: true })
  amount!: number | null;

  @Column('double precision')
  weight!: number;

  @Column()
  isOpen!: boolean;

  @Column()
  order!: Date;

  @References('Cookie')
  cookieId!: number;
}

/** Another resource with the same properties. */
@Entity('twins')
class Twin extends Sample {}

/** A later version of the entity, with one more property. */
@Entity('samples')
class LargerSample extends Sample {
  @Column('varchar', { nullable: true })
  more!: string | null;
}

/** Another version of the entity, which requires these properties. */
@Entity('samples')
@Index(['amount', 'id'])
class StricterSample extends ResourceEntity {
  @Column('varchar', { name: 'other_name' })
  note!: string;

  @Column('integer')
  amount!: number;
}

/** An entity with one more property, or one more method. */
function entityWith(name: string, ...decorators: PropertyDecorator[]): new () => ResourceEntity {
  class Wrong extends ResourceEntity {}
  for (const decorate of decorators) decorate(Wrong.prototype, name);
  Entity('wrong')(Wrong);
  return Wrong;
}

const UNSUPPORTED: [message: string | RegExp, entity: new () => ResourceEntity][] = [
  [
    'Wrong cannot be the entity of a resource: places is simple-array, and must be one of integer',
    entityWith('places', Column('simple-array')),
  ],
  [
    'price is a decimal and needs { precision: 10, scale: 2 }, and a precision of at most 15',
    entityWith('price', Column('decimal', { precision: 16, scale: 2 })),
  ],
  [
    'the default of day cannot be kept: let the service set the value',
    entityWith('day', Column({ type: Date, default: () => 'CURRENT_TIMESTAMP' })),
  ],
  [
    'the default of price must be a number',
    entityWith('price', Column('decimal', { precision: 5, scale: 2, default: '1.50' })),
  ],
  ['secret must be a plain @Column that is selected', entityWith('secret', Column('varchar', { select: false }))],
  [/publicId must be a plain @Column .* is not generated/, entityWith('publicId', Column('uuid'), Generated('uuid'))],
  ['epoch is a name that the SQL uses', entityWith('epoch', Column('varchar'))],
  ['only repositories call hash (before-insert): let the service do its work', entityWith('hash', BeforeInsert())],
  [
    /parent\.id must be a plain @Column .* a relation needs @References/,
    entityWith(
      'parent',
      ManyToOne(() => Twin),
    ),
  ],
];

describe(`the store of a resource (${engineInUse()})`, () => {
  const dateType = engineInUse() === 'postgres' ? 'timestamp' : 'datetime';
  let folder: string;
  let dataSource: DataSource;
  let samples: ResourceRepository<Sample>;
  let cookies: ResourceRepository<Cookie>;

  const storeOf = <E extends ResourceEntity>(entity: new () => E, name = SAMPLE, capacity = 3, source = dataSource) =>
    new ResourceRepository(name, source.getRepository(entity), new UsageCounter(name.plural, capacity));

  async function inMigration(work: (queryRunner: QueryRunner) => Promise<void>): Promise<void> {
    const queryRunner = dataSource.createQueryRunner();
    await work(queryRunner);
    await queryRunner.release();
  }

  beforeAll(async () => {
    folder = temporaryFolder();
    await provideDatabase(folder);
    const unsupported = UNSUPPORTED.map(([, entity]) => entity);
    dataSource = await openDataSource({}, [Sample, Twin, ...unsupported], folder);
    await migrate(dataSource);
    cookies = storeOf(Cookie, COOKIE_RESOURCE, 10);
  });

  afterAll(() => dataSource.destroy());

  beforeEach(async () => {
    await inMigration((queryRunner) =>
      createResourceTable(queryRunner, 'samples', {
        columns: {
          text: 'varchar',
          other_name: { type: 'varchar', isNullable: true },
          colour: { type: 'varchar', isNullable: true },
          amount: { type: 'integer', isNullable: true },
          weight: 'double precision',
          isOpen: 'boolean',
          order: dateType,
          cookieId: 'integer',
        },
        checks: { samples_colour: isOneOf('colour', ['red', 'deep blue']) },
        references: { cookieId: 'cookies' },
      }),
    );
    samples = storeOf(Sample);
    if ((await cookies.usage()).count === 0) await cookies.create(COOKIE);
  });

  afterEach(() => inMigration((queryRunner) => dropResourceTable(queryRunner, 'samples')));

  const sample = (values: Partial<Sample> = {}) => ({
    text: 'Ada "the first" \\ 🍪 \u2028\u0001',
    note: null,
    colour: 'deep blue',
    amount: 12,
    weight: 0.1,
    isOpen: true,
    order: new Date('2026-03-29T01:30:00.070Z'),
    cookieId: 1,
    ...values,
  });

  const listedText = async (): Promise<string> => {
    using snapshot = await samples.openSnapshot();
    const page = await snapshot.first(100, { order: 'ascending' });
    return wholeArray(page?.chunks ?? []).toString();
  };

  const listed = async (): Promise<any[]> => JSON.parse(await listedText());

  it.each([100, -7, 0, 123_456_789_012])(
    'lists %d, a whole number in a column of floating point, without a fraction',
    async (weight) => {
      await samples.create(sample({ weight }));
      expect(await listedText()).toMatch(new RegExp(`"weight":${weight}[,}]`));
    },
  );

  const VALUES: Partial<Sample>[] = [
    {},
    { note: "it's", colour: null, amount: null, isOpen: false },
    { weight: 1 / 3, amount: -(2 ** 53 - 1), order: new Date(0) },
    { weight: 1e21, text: '', order: new Date('9999-12-31T23:59:59.999Z') },
    { weight: -123456.789, amount: 0, order: new Date('2026-07-01T12:00:00.999Z') },
  ];

  it.each(VALUES)('returns the values that it was given, one by one, in lists and as records: %j', async (values) => {
    const given = sample(values);
    const { record } = await samples.create(given);
    const expected = { id: 1, ...given };
    expect(record).toEqual(expected);
    expect(Object.keys(record)).toEqual(Object.keys(expected));
    expect((await samples.find(1))?.record).toEqual(expected);
    expect(await listed()).toEqual([JSON.parse(JSON.stringify(expected))]);
    using snapshot = await samples.openSnapshot();
    for await (const page of snapshot.records({ order: 'ascending' })) {
      expect(JSON.stringify(page)).toBe(JSON.stringify([expected]));
    }
  });

  it('gives two resources with the same properties different ETags, because a handler may choose one for a subject', () => {
    const usage = new UsageCounter('twins', 3);
    const twins = new ResourceRepository(TWIN, dataSource.getRepository(Twin), usage);
    expect(twins.table.layout).not.toBe(samples.table.layout);
    expect(usage.versionOf({ epoch: 'e', revision: 1 }).epoch).toBe(`e${twins.table.layout}`);
  });

  it('keeps its records, count and capacity when a migration renames its table', async () => {
    await samples.create(sample());
    await inMigration((queryRunner) => renameResourceTable(queryRunner, 'samples', 'twins'));
    const twins = storeOf(Twin, TWIN);
    await prepareStorage(dataSource, new UsageCounter('twins', 2));
    expect(await twins.create(sample())).toMatchObject({ record: { id: 2 } });
    await expect(twins.create(sample())).rejects.toThrow(StorageFullError);
    await twins.delete(1);
    expect(await twins.usage()).toMatchObject({ count: 1 });
    await inMigration((queryRunner) => renameResourceTable(queryRunner, 'twins', 'samples'));
  });

  /** `If-Match` with the ETag of a version. */
  const only = (version: Version): Preconditions => new Preconditions(etagOf(version), undefined);
  const STALE = /^The record has changed/;

  const outcomes = async (writes: Promise<unknown>[]): Promise<unknown[]> =>
    (await Promise.allSettled(writes)).map((result) =>
      result.status === 'fulfilled' ? result.value : (result.reason as Error).message,
    );

  const onSqlite = engineInUse() === 'sqlite' ? it : it.skip;

  onSqlite('makes the updates that wait together in their order, and gives each a separate result', async () => {
    const { version: first } = await samples.create(sample());
    const { version: second } = await samples.create(sample());
    const { revision: before } = await samples.usage();
    const results = await outcomes([
      samples.update(1, { amount: 1 }, only(first)),
      samples.update(1, { amount: 2 }, only(first)),
      samples.update(9, { amount: 3 }),
      samples.update(2, { text: 'new' }, only(second)),
      samples.update(2, { text: 'new' }),
      samples.update(1, { amount: 4 }),
    ]);
    expect(results).toEqual([
      { record: { id: 1, ...sample({ amount: 1 }) }, version: expect.anything() },
      expect.stringMatching(STALE),
      'There is no sample 9',
      { record: { id: 2, ...sample({ text: 'new' }) }, version: expect.anything() },
      results[3],
      { record: { id: 1, ...sample({ amount: 4 }) }, version: expect.anything() },
    ]);
    const changed = [results[0], results[3], results[5]] as StoredRecord<Sample>[];
    expect(changed.map((result) => result.version.revision - before)).toEqual([1, 2, 3]);
    expect((await samples.usage()).revision).toBe(before + 3);
    expect(await samples.find(1)).toEqual(results[5]);
    expect(await samples.find(2)).toEqual(results[3]);
  });

  it('gives each of the deletions that wait together a separate result, and frees every place', async () => {
    for (let count = 0; count < 3; count++) await samples.create(sample());
    const { revision } = await samples.usage();
    const stale = only({ epoch: '', revision: 0 });
    const results = await outcomes([
      samples.delete(1),
      samples.delete(9),
      samples.delete(2, stale),
      samples.delete(3),
      samples.delete(1),
    ]);
    expect(results.slice(1, 4)).toEqual(['There is no sample 9', expect.stringMatching(STALE), undefined]);
    expect([results[0], results[4]].sort()).toEqual(['There is no sample 1', undefined]);
    expect(await samples.usage()).toMatchObject({ count: 1, revision: revision + 2 });
    await expect(samples.find(2)).resolves.toBeDefined();
    expect(await outcomes([samples.create(sample()), samples.create(sample())])).toHaveLength(2);
    await expect(samples.create(sample())).rejects.toThrow(StorageFullError);
  });

  it('has other ETags if the entity has another property, because each record is different', async () => {
    const { record, version } = await samples.create(sample());
    const usage = await samples.usage();
    await dataSource.query('ALTER TABLE samples ADD COLUMN more varchar');
    await using later = await openDataSource({}, [LargerSample], folder);
    const larger = storeOf(LargerSample, SAMPLE, 3, later);
    const found = await larger.get(record.id);
    expect(found.record).toEqual({ ...record, more: null });
    expect(found.version.revision).toBe(version.revision);
    expect(etagOf(found.version)).not.toBe(etagOf(version));
    expect(etagOf(await larger.usage())).not.toBe(etagOf(usage));
    const changed = await larger.update(record.id, { more: 'x' });
    expect(changed.version).toEqual((await larger.get(record.id)).version);
    expect((await samples.get(record.id)).version.epoch).toBe(version.epoch);
  });

  it('lists records without a value that the entity requires, because another version made it optional', async () => {
    for (const amount of [null, 1, null]) await samples.create(sample({ note: null, amount }));
    await using stricter = await openDataSource({}, [StricterSample], folder);
    using snapshot = await storeOf(StricterSample, SAMPLE, 3, stricter).openSnapshot();
    const page = await snapshot.first(100, { order: 'ascending' });
    expect(JSON.parse(wholeArray(page!.chunks).toString())).toEqual([
      { id: 1, note: null, amount: null },
      { id: 2, note: null, amount: 1 },
      { id: 3, note: null, amount: null },
    ]);
    const ids: unknown[] = [];
    let last: SortPosition | undefined;
    for (let read = 0; read < 3; read++) {
      ({ last } = (await snapshot.first(1, { order: 'ascending', sortBy: 'amount', after: last }))!);
      ids.push(last.id);
    }
    expect(ids).toEqual([2, 1, 3]);
  });

  it('lists a record with an instant that has no JSON, as another program may store it, and the records after it', async () => {
    for (const amount of [1, 2, 3]) await samples.create(sample({ amount }));
    await dataSource.query(`UPDATE samples SET "order" = 'infinity' WHERE id = 2`);
    const order = sample().order.toISOString();
    const expected = [1, 2, 3].map((id) => [id, id === 2 ? null : order]);
    expect((await listed()).map((record) => [record.id, record.order])).toEqual(expected);
    using snapshot = await samples.openSnapshot();
    const page = await snapshot.first(1, { order: 'ascending', after: { value: 1, id: 1 } });
    expect(page?.last.id).toBe(2);
  });

  it('keeps digits of unchanged columns that it does not read, because another version or program stores more', async () => {
    const { record } = await samples.create(sample());
    await dataSource.query(`UPDATE samples SET "order" = '2026-03-29 01:30:00.123456'`);
    await samples.update(record.id, { amount: 5 });
    const rows = await dataSource.query(`SELECT amount, substr(CAST("order" AS text), 1, 26) AS stored FROM samples`);
    expect(rows).toEqual([{ amount: 5, stored: '2026-03-29 01:30:00.123456' }]);
  });

  it('advances the id sequence when the transactions that insert have ended', async () => {
    let isAdvanced = false;
    const advance = () =>
      transaction(dataSource, (tx) => samples.in(tx).advanceIds(50)).then(() => (isAdvanced = true));
    const advanced = await transaction(dataSource, async (tx) => {
      await samples.in(tx).create(sample());
      const running = advance();
      await sleep(200);
      expect(isAdvanced).toBe(false);
      return [running];
    });
    await Promise.all(advanced);
    expect((await samples.create(sample())).record.id).toBe(51);
  });

  it('stores none of many records if one is rejected and the transaction goes on', async () => {
    await transaction(dataSource, async (tx) => {
      const many = samples.in(tx).createMany([sample(), sample({ colour: 'blue' })]);
      await expect(many).rejects.toBeInstanceOf(QueryFailedError);
      await samples.in(tx).create(sample({ amount: 5 }));
    });
    expect((await listed()).map(({ amount }) => amount)).toEqual([5]);
    expect((await samples.usage()).count).toBe(1);
  });

  it('stores the valid records of those that are created at the same time, and rejects the others', async () => {
    // The service makes a 400 of this error.
    const many = transaction(dataSource, (tx) =>
      samples.in(tx).createMany([1, 99].map((cookieId) => sample({ cookieId }))),
    );
    await expect(many).rejects.toBeInstanceOf(QueryFailedError);
    const cookieIds = [1, 99, 1, 98, 1, 97];
    const results = await outcomes(cookieIds.map((cookieId) => samples.create(sample({ cookieId }))));
    expect(results.map((result) => typeof result !== 'string')).toEqual(cookieIds.map((id) => id === 1));
    expect((await samples.usage()).count).toBe(3);
  });

  onPostgres('creates a record while a transaction locks the record that it refers to', async () => {
    await transaction(dataSource, async (tx) => {
      await cookies.in(tx).find(1);
      await samples.create(sample({ cookieId: 1 }));
    });
    expect((await samples.usage()).count).toBe(1);
  });

  onPostgres('waits for a record that it refers to before it keeps other writers waiting', async () => {
    const other = (await cookies.create(COOKIE)).record.id;
    let waiting: Promise<unknown> | undefined;
    await transaction(dataSource, async (tx) => {
      await tx.sql`SELECT id FROM cookies WHERE id = 1 FOR UPDATE`;
      waiting = samples.create(sample({ cookieId: 1 }));
      await sleep(200);
      await transaction(dataSource, (inner) => samples.in(inner).create(sample({ cookieId: other })));
      expect((await samples.usage()).count).toBe(1);
    });
    await waiting;
    expect((await samples.usage()).count).toBe(2);
  });

  onPostgres(
    'keeps other writers waiting from lock on, so that opposite orders of writes do not deadlock',
    async () => {
      let runs = 0;
      const createBoth = (...stores: (typeof cookies | typeof samples)[]) =>
        transaction(dataSource, async (tx) => {
          runs++;
          await cookies.in(tx).lock();
          await samples.in(tx).lock();
          for (const store of stores) {
            await (store === cookies ? cookies.in(tx).create(COOKIE) : samples.in(tx).create(sample()));
            await sleep(100);
          }
        });
      await Promise.all([createBoth(cookies, samples), createBoth(samples, cookies)]);
      expect(runs).toBe(2);
      expect((await samples.usage()).count).toBe(2);
    },
  );

  onPostgres('deletes only in its turn, so that a new record with its unique value does not deadlock', async () => {
    await dataSource.query('CREATE UNIQUE INDEX samples_text ON samples (text)');
    const { record } = await samples.create(sample());
    let deletion: Promise<unknown> | undefined;
    const creation = transaction(dataSource, async (tx) => {
      await tx.sql`SET LOCAL deadlock_timeout = '50ms'`;
      await samples.in(tx).lock();
      deletion ??= samples.delete(record.id);
      await sleep(200);
      await samples.in(tx).create(sample());
    });
    await expect(creation).rejects.toThrow('samples_text');
    await deletion;
    expect((await samples.usage()).count).toBe(0);
  });

  onPostgres('repeats a statement of a plain repository that ends a deadlock with a transaction', async () => {
    const [one, two] = [await samples.create(sample()), await samples.create(sample())].map(({ record }) => record.id);
    let update: Promise<unknown> | undefined;
    await dataSource.transaction(async (manager) => {
      await manager.update(Sample, one, { text: 'one' });
      update = dataSource.getRepository(Sample).update(two!, { note: 'two' });
      await sleep(200);
      await manager.update(Sample, two, { text: 'three' });
    });
    await update;
    expect((await samples.find(two!))?.record).toMatchObject({ text: 'three', note: 'two' });
  });

  it('finds nothing for a value that is no id, and disturbs no other read', async () => {
    const { record } = await samples.create(sample());
    const ids = [NaN, 1.5, 2 ** 70, -1, String(record.id) as unknown as number];
    const found = await Promise.all([record.id, ...ids].map((id) => samples.find(id)));
    expect(found.map((each) => each?.record)).toEqual([record, ...ids.map(() => undefined)]);
    const { record: other } = await samples.create(sample({ note: 'other' }));
    const both = await Promise.all([samples.get(other.id), samples.get(record.id)]);
    expect(both.map((each) => each.record)).toEqual([other, record]);
    for (const id of ids) await expect(samples.update(id, { note: 'x' })).rejects.toThrow('There is no sample');
  });

  it('reads a record together with one whose integer exceeds 2^53 - 1', async () => {
    const [one, two] = [await samples.create(sample()), await samples.create(sample())].map(({ record }) => record.id);
    await dataSource.query(`UPDATE samples SET amount = 9007199254740993 WHERE id = ${one}`);
    const results = await Promise.allSettled([samples.get(one!), samples.get(two!)]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });

  it('keeps the given id of a record, also when a record without an id is created at the same time', async () => {
    const given = [undefined, 20, undefined];
    const stored = await Promise.all(given.map((id) => samples.create(sample({ id }))));
    expect(stored.map(({ record }) => record.id)).toEqual([expect.any(Number), 20, expect.any(Number)]);
    expect((await samples.find(20))?.record.id).toBe(20);
  });

  it('gives each of the writes of one transaction its own version, also if they are not awaited one by one', async () => {
    const { record: old } = await samples.create(sample());
    const stored = await transaction(dataSource, (tx) =>
      Promise.all([
        samples.in(tx).create(sample()),
        samples.in(tx).update(old.id, { amount: 5 }),
        samples.in(tx).create(sample()),
      ]),
    );
    for (const one of stored) expect(await samples.find(one!.record.id)).toEqual(one);
  });

  it.each([
    [[], []],
    [[null], [1]],
    [
      ['b', null],
      [1, 2],
    ],
    [['b'], [2]],
  ])('finds only the records with one of the values %j', async (note, ids) => {
    for (const value of [null, 'b', 'c']) await samples.create(sample({ note: value }));
    const found = await transaction(dataSource, (tx) => samples.in(tx).findSome({ filters: { note } }, 10));
    expect(found.map(({ id }) => id).sort()).toEqual(ids);
  });

  it('gives each caller its own copy of a record, which code may change', async () => {
    const { record } = await samples.create(sample({ amount: 1 }));
    const found = await Promise.all([samples.get(record.id), samples.get(record.id)]);
    found[0].record.amount = 7;
    expect(found[1].record.amount).toBe(1);
    await samples.update(record.id, (stored) => {
      stored.order.setTime(1);
      return Object.assign(stored, { amount: stored.amount! + 1 });
    });
    expect((await samples.get(record.id)).record).toMatchObject({ amount: 2, order: new Date(1) });
  });

  it.each(UNSUPPORTED)('rejects an entity with an unsupported column: %s', (message, entity) => {
    expect(() => storeOf(entity)).toThrow(message);
  });

  it.each([Infinity, NaN, -1, 0.5])('rejects a capacity of %d at the start', async (capacity) => {
    const start = prepareStorage(dataSource, new UsageCounter('samples', capacity));
    await expect(start).rejects.toThrow(`The capacity of samples is ${capacity}; it must be from 0 to`);
  });

  it('rejects a ResourceName that is not the name of the table, such as that of another resource', () => {
    expect(() => storeOf(Sample, COOKIE_RESOURCE)).toThrow(
      'The ResourceName is "cookies", and the table of its entity is "samples"',
    );
  });
});
