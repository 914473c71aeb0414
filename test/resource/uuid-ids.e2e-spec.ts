import { DataSource, type Repository } from 'typeorm';
import { validObject } from '../../src/http/validation/validate.js';
import { UUID_IDS } from '../../src/resource/id-kinds.js';
import type { ResourceRepository } from '../../src/resource/store/resource-repository.js';
import { CreateSamples1790000500000 } from '../samples/create-samples.js';
import { sampleBody, sampleValues } from '../samples/sample-body.js';
import { PatchSampleDto } from '../samples/sample.dto.js';
import { Sample } from '../samples/sample.entity.js';
import { SamplesModule } from '../samples/samples.module.js';
import { engineInUse } from '../support/engine.js';
import { type Answer, Client, COOKIE, sharedService } from '../support/service.js';

const isSqlite = engineInUse() === 'sqlite';
const DEVICE = '01999999-0000-7000-8000-000000000001';
const UPPER_CASE = '01999999-0000-7000-8000-00000000000A';
const COLUMNS = 'code, quantity, weight, "startsAt", day, "deviceId", status, "cookieId", address';
const VALUES = `'dd', 4, 1, '2026-01-31 12:00:00.000', '2026-01-31', '${DEVICE}', 'open', 1, '{"street":"x"}'`;

// `describeResource` tests the requests of samples.
describe(`samples, whose ids are UUIDs (${engineInUse()})`, () => {
  const migrations = [new CreateSamples1790000500000()];
  const { service } = sharedService({ LOG_LEVEL: 'silent' }, [SamplesModule], migrations);
  const client = Client.of(service, { scope: 'cookies:write samples:read samples:write' });
  let dataSource: DataSource;
  let samples: Repository<Sample>;

  beforeAll(async () => {
    await client.post(COOKIE);
    dataSource = service.app.get(DataSource);
    samples = dataSource.getRepository(Sample);
  });

  beforeEach(() => dataSource.query('DELETE FROM samples'));

  const sample = (code: string) => sampleValues({ code });
  const post = (changes?: object): Promise<Answer> => client.request('POST', '/samples', { body: sampleBody(changes) });
  const setCapacity = (capacity: number) =>
    dataSource.query(`UPDATE storage SET capacity = ${capacity} WHERE resource = 'samples'`);
  const insert = (id: string, verb = 'INSERT') => `${verb} INTO samples (id, ${COLUMNS}) VALUES ('${id}', ${VALUES})`;

  const given = UUID_IDS.next!();
  type Write = [what: string, write: (ids: readonly string[]) => Promise<unknown>, codes: string];
  const onSqlite: Write[] = [
    ['REPLACE INTO', ([a]) => dataSource.query(insert(a!, 'REPLACE')), 'bb cc dd'],
    ['REPLACE INTO of a new record', () => dataSource.query(insert(given, 'REPLACE')), 'aa bb cc dd'],
  ];
  const onPostgres: Write[] = [['TRUNCATE', () => dataSource.query('TRUNCATE samples CASCADE'), '']];

  it.each<Write>([
    ['insert of a repository', () => samples.insert(sample('dd')), 'aa bb cc dd'],
    ['upsert', ([a]) => samples.upsert([{ id: a, ...sample('xx') }, sample('dd')], ['id']), 'bb cc dd xx'],
    ['INSERT with an id', () => dataSource.query(insert(given)), 'aa bb cc dd'],
    ['UPDATE of an id', ([a]) => dataSource.query(`UPDATE samples SET id = '${given}' WHERE id = '${a}'`), 'aa bb cc'],
    ['DELETE of all', () => dataSource.query('DELETE FROM samples'), ''],
    ...(isSqlite ? onSqlite : onPostgres),
  ])('count, capacity and ETags are correct after %s without the resource kit', async (_what, write, codes) => {
    const ids: string[] = [];
    for (const code of ['aa', 'bb', 'cc']) ids.push((await post({ code })).body.id);
    const before = await client.get('/samples');
    await write(ids);
    const after = await client.get('/samples', { 'if-none-match': before.headers.get('etag')! });
    expect(after.status).toBe(200);
    const records: { id: string; code: string }[] = after.body;
    expect(records.map(({ code }) => code).toSorted()).toEqual(codes.split(' ').filter(Boolean));
    for (const { id } of records) expect((await client.get(`/samples/${id}`)).status).toBe(200);
    await setCapacity(records.length + 2);
    const responses = await Promise.all(Array.from({ length: 4 }, () => post()));
    expect(responses.map(({ status }) => status).toSorted()).toEqual([201, 201, 507, 507]);
    await setCapacity(10_000);
  });

  it.each([
    [
      { price: '13.8', tip: '3.5' },
      { price: '13.80', tip: '4' },
    ],
    [{ price: String(12.5 * 1.1) }, { price: '13.75' }],
    [{ deviceId: UPPER_CASE }, { deviceId: UPPER_CASE.toLowerCase() }],
    [{ note: 'cut in a \u{1f36a}'.slice(0, -1) }, { note: 'cut in a \ufffd' }],
    [{ day: new Date('2026-01-31T23:30:00Z') as never }, { day: '2026-01-31' }],
    [{ day: '2026-02-28T23:30:00-05:00' }, { day: '2026-02-28' }],
  ])('a write of %o by code returns the record as it is stored, and changes nothing again', async (changes, stored) => {
    const records = service.app.get<ResourceRepository<Sample>>('SampleResourceRepository', { strict: false });
    const { id } = (await post()).body;
    const updated = await records.update(id, changes);
    expect(updated.record).toMatchObject(stored);
    expect(await records.get(id)).toEqual(updated);
    expect(await records.update(id, changes)).toEqual(updated);
    const created = await records.create({ ...updated.record, code: 'zz', quantity: 1000, ...changes, id: undefined });
    expect(await records.get(created.record.id)).toEqual(created);
  });

  it('a UUID of a body is in lower case in its DTO', async () => {
    const dto = await validObject(PatchSampleDto, { deviceId: UPPER_CASE });
    expect(dto).toMatchObject({ deviceId: UPPER_CASE.toLowerCase() });
  });

  it('a TypeORM repository gives a new record an id greater than all others', async () => {
    const { id: before } = (await post()).body;
    const saved = await samples.save(sample('dd'));
    const { identifiers } = await samples.insert(sample('ee'));
    const { id: last } = (await post()).body;
    const made = [before, saved.id, identifiers[0]!['id'], last];
    expect(made.toSorted()).toEqual(made);
  });

  it.each([
    ['without an id', `INSERT INTO samples (${COLUMNS}) VALUES (${VALUES})`],
    ['whose id is no UUID', insert('7')],
    ['whose id has hyphens only', insert('-'.repeat(36))],
    ['whose id is the nil UUID', insert(UUID_IDS.lowest)],
    // PostgreSQL accepts any case and normalises it.
    ...(isSqlite ? [['whose id is in upper case', insert(UPPER_CASE)]] : []),
  ])('an INSERT %s is rejected, and changes nothing', async (_what, sql) => {
    const before = await client.get('/samples');
    await expect(dataSource.query(sql)).rejects.toThrow(/constraint|invalid input syntax/);
    expect((await client.get('/samples')).headers.get('etag')).toBe(before.headers.get('etag'));
  });
});
