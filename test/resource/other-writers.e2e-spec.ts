import { join } from 'node:path';
import { Body, Controller, Module, Post } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { DataSource, type EntityManager, TableForeignKey } from 'typeorm';
import type { Repository } from 'typeorm';
import { Scopes } from '../../src/auth/scopes.decorator.js';
import { CreateCookieDto } from '../../src/cookies/dto/cookie.dto.js';
import { Cookie } from '../../src/cookies/cookie.entity.js';
import { openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import { createResourceTable } from '../../src/resource/store/resource-migration.js';
import { CreateSamples1790000500000 } from '../samples/create-samples.js';
import { sampleBody } from '../samples/sample-body.js';
import { SamplesModule } from '../samples/samples.module.js';
import { databaseUrlFor, engineInUse } from '../support/engine.js';
import { migrationOf } from '../support/migration-of.js';
import { onServer } from '../support/postgres/postgres-server.js';
import { type Answer, Client, COOKIE, sharedService, startService } from '../support/service.js';

const CAPACITY = 7;
const COLUMNS = 'flavor, size, wish';
const isSqlite = engineInUse() === 'sqlite';

/** Ids of the first two of the three cookies that are stored before each write. */
type Ids = readonly [a: number, b: number, ...others: number[]];

/** Wishes of all cookies after the write, by ascending id; a, b and c were stored before. */
type Wishes = readonly string[];

type SqlWrites = Readonly<Record<string, [sql: (ids: Ids) => string, wishes: Wishes]>>;

/** A row of SQL with the columns of `WITH_ID`. */
const values = (id: number | 'NULL', wish: string): string => `(${id}, 'vanilla', 'small', '${wish}')`;
const WITH_ID = `cookies (id, ${COLUMNS})`;
const OF_D = `VALUES ('vanilla', 'small', 'd')`;

const SQL: SqlWrites = {
  'INSERT of a row': [() => `INSERT INTO cookies (${COLUMNS}) ${OF_D}`, ['a', 'b', 'c', 'd']],
  'INSERT of a row with a revision that is made up': [
    () => `INSERT INTO cookies (${COLUMNS}, revision) VALUES ('vanilla', 'small', 'd', 8000000000000)`,
    ['a', 'b', 'c', 'd'],
  ],
  'INSERT of copies with their revisions': [
    () => `INSERT INTO cookies (${COLUMNS}, revision) SELECT ${COLUMNS}, revision FROM cookies ORDER BY id`,
    ['a', 'b', 'c', 'a', 'b', 'c'],
  ],
  'INSERT of an id far ahead': [([a]) => `INSERT INTO ${WITH_ID} VALUES ${values(a + 500, 'd')}`, ['a', 'b', 'c', 'd']],
  'INSERT ... ON CONFLICT DO UPDATE': [
    ([a, b]) =>
      `INSERT INTO ${WITH_ID} VALUES ${values(a, 'x')}, ${values(b + 2, 'd')}
         ON CONFLICT (id) DO UPDATE SET wish = excluded.wish`,
    ['x', 'b', 'c', 'd'],
  ],
  'INSERT ... ON CONFLICT DO NOTHING': [
    ([a, b]) => `INSERT INTO ${WITH_ID} VALUES ${values(a, 'x')}, ${values(b + 2, 'd')} ON CONFLICT DO NOTHING`,
    ['a', 'b', 'c', 'd'],
  ],
  'UPDATE of all rows': [() => `UPDATE cookies SET wish = wish || 'x'`, ['ax', 'bx', 'cx']],
  'UPDATE with a revision': [() => `UPDATE cookies SET wish = 'x', revision = revision + 1`, ['x', 'x', 'x']],
  'UPDATE with the revision of another row': [
    ([a, b]) =>
      `UPDATE cookies SET wish = 'x', revision = (SELECT revision FROM cookies WHERE id = ${b}) WHERE id = ${a}`,
    ['x', 'b', 'c'],
  ],
  'UPDATE of an id': [([a]) => `UPDATE cookies SET id = ${a + 700} WHERE id = ${a}`, ['b', 'c', 'a']],
  'DELETE of several rows': [([a, b]) => `DELETE FROM cookies WHERE id IN (${a}, ${b})`, ['c']],
  'DELETE of all rows': [() => 'DELETE FROM cookies', []],
  ...(isSqlite
    ? {
        'REPLACE INTO': [
          ([a, b]) =>
            `REPLACE INTO cookies (id, ${COLUMNS}, revision)
               SELECT id, flavor, size, 'x', revision FROM cookies WHERE id IN (${a}, ${b})`,
          ['x', 'x', 'c'],
        ],
        'REPLACE INTO with a row that is new': [
          ([a, b]) => `REPLACE INTO ${WITH_ID} VALUES ${values(a, 'x')}, ${values(b + 2, 'd')}`,
          ['x', 'b', 'c', 'd'],
        ],
        'UPDATE OR REPLACE of an id': [
          ([a, b]) => `UPDATE OR REPLACE cookies SET id = ${b} WHERE id = ${a}`,
          ['a', 'c'],
        ],
        'INSERT OR IGNORE': [
          ([a]) => `INSERT OR IGNORE INTO ${WITH_ID} VALUES ${values(a, 'x')}, ${values('NULL', 'd')}`,
          ['a', 'b', 'c', 'd'],
        ],
      }
    : {
        TRUNCATE: [() => 'TRUNCATE cookies RESTART IDENTITY CASCADE', []],
        COPY: [
          () => `COPY cookies (${COLUMNS}) FROM PROGRAM 'printf "vanilla\\tsmall\\td\\nvanilla\\tsmall\\te\\n"'`,
          ['a', 'b', 'c', 'd', 'e'],
        ],
        'WITH ... DELETE ... INSERT': [
          ([a]) =>
            `WITH gone AS (DELETE FROM cookies WHERE id = ${a} RETURNING ${COLUMNS}, revision)
               INSERT INTO cookies (${COLUMNS}, revision) SELECT * FROM gone`,
          ['b', 'c', 'a'],
        ],
      }),
};

type Write = (cookies: Repository<Cookie>, ids: Ids, manager: EntityManager) => Promise<unknown>;

const row = (wish: string) => ({ ...COOKIE, wish });

const TYPEORM: Readonly<Record<string, [write: Write, wishes: Wishes]>> = {
  insert: [(cookies) => cookies.insert(row('d')), ['a', 'b', 'c', 'd']],
  'save of one that was read': [
    async (cookies, [a]) => cookies.save(Object.assign(await cookies.findOneByOrFail({ id: a }), { wish: 'x' })),
    ['x', 'b', 'c'],
  ],
  'save of one that was saved before': [
    async (cookies) => {
      const cookie = await cookies.save(cookies.create(row('d')));
      await cookies.save(Object.assign(cookie, { wish: 'e' }));
    },
    ['a', 'b', 'c', 'e'],
  ],
  'update with a revision': [(cookies, [a]) => cookies.update(a, { wish: 'x', revision: 1 }), ['x', 'b', 'c']],
  upsert: [(cookies, [a]) => cookies.upsert({ id: a, ...row('x') }, ['id']), ['x', 'b', 'c']],
  remove: [async (cookies) => cookies.remove(await cookies.find()), []],
  clear: [(cookies) => cookies.clear({ cascade: !isSqlite }), []],
  'a transaction of several writes': [
    (_cookies, [a, b], manager) =>
      manager.transaction(async (inner) => {
        await inner.delete(Cookie, { id: a });
        await inner.update(Cookie, { id: b }, { wish: 'x' });
        await inner.insert(Cookie, [row('d'), row('e')]);
        await inner.delete(Cookie, { wish: 'd' });
      }),
    ['x', 'c', 'e'],
  ],
};

/** Stores bodies with a plain TypeORM repository, as a controller of a team may. */
@Controller('plain-cookies')
class PlainCookiesController {
  constructor(@InjectRepository(Cookie) private readonly cookies: Repository<Cookie>) {}

  @Post()
  @Scopes('cookies:write')
  async create(@Body() body: CreateCookieDto) {
    await this.cookies.insert(body);
  }
}

@Module({ imports: [TypeOrmModule.forFeature([Cookie])], controllers: [PlainCookiesController] })
class PlainCookiesModule {}

/** A migration that rebuilds a table. On SQLite this drops the triggers, which are made again at its end. */
const CASCADE_TO_SAMPLES = migrationOf('CascadeToSamples1790000600000', async (runner) => {
  const { foreignKeys } = (await runner.getTable('samples'))!;
  await runner.dropForeignKey(
    'samples',
    foreignKeys.find(({ columnNames }) => columnNames[0] === 'cookieId')!,
  );
  const columns = { columnNames: ['cookieId'], referencedTableName: 'cookies', referencedColumnNames: ['id'] };
  await runner.createForeignKey('samples', new TableForeignKey({ ...columns, onDelete: 'CASCADE' }));
});

/** A table with two unique keys. */
const CREATE_PEWS = migrationOf('CreatePews1790000600000', async (runner) => {
  const columns = { code: 'varchar', line: 'integer', place: 'integer' };
  await createResourceTable(runner, 'pews', { columns, unique: [['code'], ['line', 'place']] });
});

/** Writes to pews with a (1, 1), b (2, 2) and c (3, 3), and the expected codes. */
const PEWS: readonly [sql: string, codes: string, engine?: 'sqlite'][] = [
  [`INSERT INTO pews (code, line, place) VALUES ('a', 9, 9), ('d', 4, 4) ON CONFLICT DO NOTHING`, 'abcd'],
  [`INSERT INTO pews (code, line, place) VALUES ('a', 9, 9) ON CONFLICT (code) DO UPDATE SET place = 9`, 'abc'],
  [`UPDATE pews SET code = 'x' WHERE code = 'a'`, 'bcx'],
  [`REPLACE INTO pews (code, line, place) VALUES ('a', 9, 9)`, 'abc', 'sqlite'],
  [`REPLACE INTO pews (code, line, place) VALUES ('d', 3, 3)`, 'abd', 'sqlite'],
  [`REPLACE INTO pews (code, line, place) VALUES ('a', 3, 3), ('d', 4, 4)`, 'abd', 'sqlite'],
  [`REPLACE INTO pews (id, code, line, place) SELECT id, 'b', 3, 3 FROM pews WHERE code = 'a'`, 'b', 'sqlite'],
  [`UPDATE OR REPLACE pews SET code = 'a' WHERE code = 'c'`, 'ab', 'sqlite'],
  [`UPDATE OR REPLACE pews SET code = 'a', line = 2, place = 2 WHERE code = 'c'`, 'a', 'sqlite'],
  [`UPDATE OR IGNORE pews SET code = 'a' WHERE code = 'c'`, 'abc', 'sqlite'],
];

describe(`writes without the resource kit (${engineInUse()})`, () => {
  const { service } = sharedService(
    { COOKIES_CAPACITY: String(CAPACITY), LOG_LEVEL: 'silent' },
    [SamplesModule, PlainCookiesModule],
    [new CreateSamples1790000500000(), CASCADE_TO_SAMPLES, CREATE_PEWS],
  );
  const client = Client.of(service, { scope: 'cookies:read cookies:write samples:read samples:write' });
  let dataSource: DataSource;

  beforeAll(() => {
    dataSource = service.app.get(DataSource);
  });

  const postWish = (wish: string): Promise<Answer> => client.post({ ...COOKIE, wish });
  const wishesOf = ({ body }: Answer): string[] => body.map(({ wish }: { wish: string }) => wish);
  const etagOf = ({ headers }: Answer): string => headers.get('etag')!;

  /** Runs SQL on a separate connection, as another program does. */
  async function outside(sql: string): Promise<void> {
    if (!isSqlite) return onServer(databaseUrlFor(service.folder), async (other) => void (await other.query(sql)));
    using file = openDatabase(join(service.folder, 'cookies.sqlite'), { timeout: 5000 });
    // Foreign keys and recursive triggers are off, as in the command line of SQLite.
    file.exec(`PRAGMA foreign_keys = OFF; ${sql}`);
  }

  /** Stores three cookies, writes, and compares every response with the database. */
  async function expectRight(write: (ids: Ids) => Promise<unknown>, wishes: Wishes): Promise<void> {
    for (const { id } of (await client.get('/cookies')).body) await client.request('DELETE', `/cookies/${id}`);
    const ids: number[] = [];
    for (const wish of ['a', 'b', 'c']) ids.push((await postWish(wish)).body.id);
    const list = etagOf(await client.get('/cookies'));
    const records = await Promise.all(ids.map((id) => client.get(`/cookies/${id}`)));
    await write(ids as unknown as Ids);

    const after = await client.get('/cookies', { 'if-none-match': list });
    const shown = [after.status, wishesOf(after), after.headers.get('x-total-count')];
    expect(shown).toEqual([200, wishes, String(wishes.length)]);
    expect((await client.get('/cookies', { 'if-none-match': etagOf(after) })).status).toBe(304);
    for (const [index, id] of ids.entries()) {
      const before = records[index]!;
      const stored = after.body.find((cookie: { id: number }) => cookie.id === id);
      const isSame = stored?.wish === before.body.wish;
      const now = await client.get(`/cookies/${id}`, { 'if-none-match': etagOf(before) });
      if (stored === undefined) expect(now.status).toBe(404);
      else if (!isSame) expect([now.status, now.body]).toEqual([200, stored]);
      else expect([200, 304]).toContain(now.status);
    }

    for (let free = CAPACITY - wishes.length; free > 0; free--) expect((await postWish('more')).status).toBe(201);
    expect((await postWish('more')).status).toBe(507);
    const [{ id }] = (await client.get('/cookies')).body;
    expect((await client.request('DELETE', `/cookies/${id}`)).status).toBe(204);
    expect([(await postWish('more')).status, (await postWish('more')).status]).toEqual([201, 507]);
  }

  it.each(Object.entries(SQL))(
    'leave count, capacity and ETags correct: %s by another program',
    (_what, [sql, wishes]) => expectRight((ids) => outside(sql(ids)), wishes),
  );

  it.each(Object.entries(TYPEORM))('leave count, capacity and ETags correct: %s of TypeORM', (_what, [write, wishes]) =>
    expectRight((ids) => write(dataSource.getRepository(Cookie), ids, dataSource.manager), wishes),
  );

  const recursive = isSqlite ? ['', 'PRAGMA recursive_triggers = ON; '] : [''];
  it.each(
    PEWS.filter(([, , engine]) => engine === undefined || isSqlite).flatMap(([sql, codes]) =>
      recursive.map((before) => [before + sql, codes]),
    ),
  )('leave the count of unique records correct: %s', async (sql, codes) => {
    await dataSource.query('DELETE FROM pews');
    await dataSource.query(`INSERT INTO pews (code, line, place) VALUES ('a', 1, 1), ('b', 2, 2), ('c', 3, 3)`);
    await outside(sql);
    // The ignored row of one statement must not count in the next one.
    await dataSource.query(`INSERT INTO pews (code, line, place) VALUES ('y', 8, 8)`);
    const pews: { code: string }[] = await dataSource.query('SELECT code FROM pews ORDER BY code');
    expect(pews.map(({ code }) => code).join('')).toBe(`${codes}y`);
    const [{ used }] = await dataSource.query(`SELECT used FROM storage WHERE resource = 'pews'`);
    expect(Number(used)).toBe(pews.length);
  });

  it('change an id to one that is never given again', async () => {
    await dataSource.query('DELETE FROM cookies');
    const { id } = (await postWish('a')).body;
    await outside(`UPDATE cookies SET id = ${id + 3} WHERE id = ${id}`);
    await client.request('DELETE', `/cookies/${id + 3}`);
    expect((await postWish('b')).body.id).toBeGreaterThan(id + 3);
  });

  it('are rejected when the storage is full: 507 for a repository, an error for another program', async () => {
    while ((await postWish('more')).status === 201);
    const post = () => client.request('POST', '/plain-cookies', { body: COOKIE });
    const { status, body } = await post();
    expect({ status, ...body }).toMatchObject({ status: 507, errorCode: 'STORAGE_FULL', message: 'Storage is full' });
    const insert = `INSERT INTO cookies (${COLUMNS}) VALUES ('vanilla', 'small', 'd')`;
    await expect(outside(insert)).rejects.toMatchObject({ message: expect.stringContaining('Storage is full') });
    await outside(`DELETE FROM cookies WHERE id = (SELECT max(id) FROM cookies)`);
    expect([(await post()).status, (await post()).status]).toEqual([201, 507]);
    expect((await client.get('/cookies')).headers.get('x-total-count')).toBe(String(CAPACITY));
  });

  it.each(['the kit', 'a repository'])(
    'change records of another resource by a cascade: DELETE by %s',
    async (writer) => {
      await dataSource.query('DELETE FROM cookies');
      const { id } = (await postWish('a')).body;
      for (let count = 0; count < 2; count++) {
        await client.request('POST', '/samples', { body: sampleBody({ cookieId: id }) });
      }
      const before = await client.get('/samples');
      expect(before.headers.get('x-total-count')).toBe('2');
      if (writer === 'the kit') await client.request('DELETE', `/cookies/${id}`);
      else await dataSource.getRepository(Cookie).delete({ id });
      const after = await client.get('/samples', { 'if-none-match': etagOf(before) });
      expect([after.status, after.body, after.headers.get('x-total-count')]).toEqual([200, [], '0']);
    },
  );

  it('do not disturb writes of the resource kit in one transaction', async () => {
    await dataSource.query('DELETE FROM cookies');
    const { body, headers } = await postWish('a');
    await dataSource.transaction(async (manager) => {
      await manager.insert(Cookie, row('b'));
      await manager.update(Cookie, { id: body.id }, { wish: 'x' });
    });
    const patch = (etag: string) =>
      client.request('PATCH', `/cookies/${body.id}`, { body: { size: 'large' }, headers: { 'if-match': etag } });
    expect((await patch(headers.get('etag')!)).status).toBe(412);
    const patched = await patch(etagOf(await client.get(`/cookies/${body.id}`)));
    expect(patched.status).toBe(204);
    expect(etagOf(await client.get(`/cookies/${body.id}`))).toBe(etagOf(patched));
  });
});

/** A key of some rows only, as for records that are not marked as deleted. */
const PARTIAL_KEY = migrationOf('PartialKey1790000600000', (runner) =>
  runner.query(`CREATE UNIQUE INDEX partial_key ON cookies (wish) WHERE flavor = 'vanilla'`),
);

it('a partial unique index leaves the count and the capacity exact for rows outside it', async () => {
  await using service = await startService({ COOKIES_CAPACITY: '4' }, [], [PARTIAL_KEY]);
  const client = Client.of(service);
  const outside = { ...COOKIE, flavor: 'chocolate' };
  for (const wish of ['w', 'w', 'other']) expect((await client.post({ ...outside, wish })).status).toBe(201);
  await service.app.get(DataSource).query(`UPDATE cookies SET wish = 'w' WHERE wish = 'other'`);
  const vanilla = { ...COOKIE, flavor: 'vanilla', wish: 'w' };
  expect((await client.post(vanilla)).status).toBe(201);
  expect((await client.get('/cookies?limit=1')).headers.get('x-total-count')).toBe('4');
  expect((await client.post({ ...outside, wish: 'w' })).status).toBe(507);
  await client.request('DELETE', '/cookies/1');
  expect(await client.post(vanilla)).toMatchObject({ status: 409, body: { details: [{ pointer: '/wish' }] } });
  expect((await client.get('/cookies?limit=1')).headers.get('x-total-count')).toBe('3');
});

(isSqlite ? it.skip : it)(
  'a statement of more rows than the largest step between revisions changes each ETag',
  async () => {
    await using service = await startService({ COOKIES_CAPACITY: '30' });
    const source = service.app.get(DataSource);
    // As with more than a million rows, in less time.
    const [{ sql }] = await source.query(
      `SELECT replace(pg_get_functiondef('cookies_books'::regproc), '1000000', '10') AS sql`,
    );
    await source.query(sql);
    await source.query(`INSERT INTO cookies (${COLUMNS}) SELECT 'vanilla', 'small', 'a' FROM generate_series(1, 30)`);
    await source.query(`UPDATE cookies SET wish = 'b'`);
    const counts = `SELECT used, revision, (SELECT count(DISTINCT revision) FROM cookies) AS etags FROM storage`;
    const [counted] = await source.query(`${counts} WHERE resource = 'cookies'`);
    expect(Object.values(counted).map(Number)).toEqual([30, 60, 30]);
  },
);
