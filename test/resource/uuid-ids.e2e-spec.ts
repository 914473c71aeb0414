import { Logger } from '@nestjs/common';
import { DataSource, type Repository } from 'typeorm';
import { UUID_IDS } from '../../src/resource/id-kinds.js';
import { CreatePermits1790000400000, Permit, PermitsModule } from '../permits/permits.js';
import { engineInUse } from '../support/engine.js';
import { type Answer, Client, type Service, startService } from '../support/service.js';

const CAPACITY = 100;
const isSqlite = engineInUse() === 'sqlite';
const modules = [PermitsModule];
const migrations = [new CreatePermits1790000400000()];
const UPPER_CASE = '01999999-0000-7000-8000-00000000000A';

describe(`permits, whose ids are UUIDs (${engineInUse()})`, () => {
  let service: Service;
  let client: Client;
  let dataSource: DataSource;
  let permits: Repository<Permit>;

  beforeAll(async () => {
    Logger.overrideLogger(false);
    service = await startService({ LOG_LEVEL: 'silent' }, modules, migrations);
    client = await Client.of(service, { scope: 'permits:read permits:write remarks:read remarks:write' });
    dataSource = service.app.get(DataSource);
    permits = dataSource.getRepository(Permit);
  });

  afterAll(() => service.stop());

  beforeEach(() => dataSource.query('DELETE FROM permits'));

  const post = (seats = 2): Promise<Answer> =>
    client.request('POST', '/permits', { body: { title: `Row ${seats}`, seats } });
  const setCapacity = (capacity: number) =>
    dataSource.query(`UPDATE storage SET capacity = ${capacity} WHERE resource = 'permits'`);
  const idsOf = ({ body }: Answer): string[] => body.map(({ id }: { id: string }) => id);

  it('64 concurrent clients get 100 different ids, and the list is in their order', async () => {
    const responses: Answer[] = [];
    const create = async (): Promise<void> => {
      for (let turn = 0; turn < 3; turn++) responses.push(await post());
    };
    await Promise.all(Array.from({ length: 64 }, create));
    const created = responses.filter(({ status }) => status === 201).map(({ body }) => body.id as string);
    expect(responses.filter(({ status }) => status === 507)).toHaveLength(3 * 64 - CAPACITY);
    expect(new Set(created).size).toBe(CAPACITY);
    const list = await client.get('/permits');
    expect(idsOf(list)).toEqual([...created].sort());
    expect(list.headers.get('x-total-count')).toBe(String(CAPACITY));
    const byRevision = await dataSource.query('SELECT id FROM permits ORDER BY revision');
    expect(idsOf({ ...list, body: byRevision })).toEqual(idsOf(list));
  });

  it('GET of the list returns 304 until a permit changes, whatever remarks do', async () => {
    const { id } = (await post()).body;
    const etag = (await client.get('/permits')).headers.get('etag')!;
    await client.request('POST', '/remarks', { body: { text: 'Sold', permitId: id } });
    expect((await client.get('/permits', { 'if-none-match': etag })).status).toBe(304);
    await dataSource.query('DELETE FROM remarks');
    await post();
    expect((await client.get('/permits', { 'if-none-match': etag })).status).toBe(200);
  });

  it('GET of the list returns 400 that names the parameters in the order of the document', async () => {
    const unknown = await client.get('/remarks?colour=red');
    expect(unknown.body.message).toBe('colour: is not known here; known are limit, after, sort, permitId');
    const { body } = await client.get('/remarks?permitId=0&after=x&limit=0');
    const names = body.details.map(({ parameter }: { parameter: string }) => parameter);
    expect(names).toEqual(['limit', 'after', 'permitId']);
  });

  it('the document describes the id as a UUID in path, record and reference, and after as a UUID or 0', async () => {
    const { paths, components } = (await (await fetch(`${service.url}/openapi.json`)).json()) as any;
    const { parameters } = paths['/permits/{id}'].get;
    const uuid = { type: 'string', format: 'uuid' };
    expect(parameters.find(({ name }: { name: string }) => name === 'id').schema).toMatchObject(uuid);
    expect(components.schemas.PermitDto.properties.id).toMatchObject(uuid);
    expect(components.schemas.CreateRemarkDto.properties.permitId).toMatchObject(uuid);
    expect(components.schemas.RemarkDto.properties.id).toMatchObject({ type: 'integer' });
    const filter = paths['/remarks'].get.parameters.find(({ name }: { name: string }) => name === 'permitId');
    expect(filter.schema.items).toMatchObject(uuid);
  });

  it('a record that refers to a UUID is 201, found by it, and keeps its permit from DELETE', async () => {
    const { id } = (await post()).body;
    const remark = { text: 'Sold', permitId: id };
    const stored = await client.request('POST', '/remarks', { body: remark });
    expect(stored).toMatchObject({ status: 201, body: remark });
    expect((await client.get(`/remarks?permitId=${id}`)).body).toEqual([stored.body]);
    expect((await client.get(`/remarks?permitId=${given}`)).body).toEqual([]);
    const { status, body } = await client.request('POST', '/remarks', { body: { ...remark, permitId: given } });
    expect({ status, pointers: body.details.map(({ pointer }: { pointer: string }) => pointer) }).toEqual({
      status: 400,
      pointers: ['/permitId'],
    });
    expect((await client.request('DELETE', `/permits/${id}`)).status).toBe(409);
    await dataSource.query('DELETE FROM remarks');
  });

  const row = (title: string) => ({ title, seats: 1 });
  const insert = (id: string, verb = 'INSERT') => `${verb} INTO permits (id, title, seats) VALUES ('${id}', 'd', 1)`;
  const given = UUID_IDS.next!();
  type Write = [what: string, write: (ids: readonly string[]) => Promise<unknown>, titles: readonly string[]];
  const writes: Write[] = [
    ['insert of a repository', () => permits.insert(row('d')), ['a', 'b', 'c', 'd']],
    ['upsert', ([a]) => permits.upsert([{ id: a, ...row('x') }, row('d')], ['id']), ['x', 'b', 'c', 'd']],
    ['INSERT with an id', () => dataSource.query(insert(given)), ['a', 'b', 'c', 'd']],
    [
      'UPDATE of an id',
      ([a]) => dataSource.query(`UPDATE permits SET id = '${given}' WHERE id = '${a}'`),
      ['a', 'b', 'c'],
    ],
    ['DELETE of all', () => dataSource.query('DELETE FROM permits'), []],
    ...(isSqlite
      ? ([
          ['REPLACE INTO', ([a]) => dataSource.query(insert(a!, 'REPLACE')), ['d', 'b', 'c']],
          ['REPLACE INTO of a new record', () => dataSource.query(insert(given, 'REPLACE')), ['a', 'b', 'c', 'd']],
        ] satisfies Write[])
      : ([['TRUNCATE', () => dataSource.query('TRUNCATE permits CASCADE'), []]] satisfies Write[])),
  ];

  it.each(writes)(
    'count, capacity and ETags are correct after %s without the resource kit',
    async (_what, write, titles) => {
      const ids: string[] = [];
      for (const title of ['a', 'b', 'c'])
        ids.push((await client.request('POST', '/permits', { body: row(title) })).body.id);
      const before = await client.get('/permits');
      await write(ids);
      const after = await client.get('/permits', { 'if-none-match': before.headers.get('etag')! });
      expect(after.status).toBe(200);
      expect(after.body.map(({ title }: { title: string }) => title).sort()).toEqual([...titles].sort());
      for (const id of idsOf(after)) expect((await client.get(`/permits/${id}`)).status).toBe(200);
      await setCapacity(titles.length + 2);
      const responses = await Promise.all(Array.from({ length: 4 }, () => post()));
      expect(responses.map(({ status }) => status).sort()).toEqual([201, 201, 507, 507]);
      await setCapacity(CAPACITY);
    },
  );

  it('a repository gives the record its id, which is the greatest', async () => {
    const { id: before } = (await post()).body;
    const saved = await permits.save(row('d'));
    const { identifiers } = await permits.insert(row('e'));
    const { id: last } = (await post()).body;
    const made = [before, saved.id, identifiers[0]!['id'], last];
    expect([...made].sort()).toEqual(made);
  });

  it.each([
    ['without an id', `INSERT INTO permits (title, seats) VALUES ('d', 1)`],
    ['whose id is no UUID', insert('7')],
    ['whose id has hyphens only', insert('-'.repeat(36))],
    ['whose id is the nil UUID', insert(UUID_IDS.lowest)],
    // PostgreSQL accepts any case and normalises it.
    ...(isSqlite ? [['whose id is in upper case', insert(UPPER_CASE)]] : []),
  ])('an INSERT %s is rejected, and changes nothing', async (_what, sql) => {
    const before = await client.get('/permits');
    await expect(dataSource.query(sql)).rejects.toThrow(/constraint|invalid input syntax/);
    expect((await client.get('/permits')).headers.get('etag')).toBe(before.headers.get('etag'));
  });
});
