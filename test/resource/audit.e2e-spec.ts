import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource, TableColumn } from 'typeorm';
import { openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import { migrate } from '../../src/database/schema/migrations.js';
import { openApiDocument } from '../../src/openapi/document.js';
import { actAs } from '../../src/resource/audit/actor.js';
import { dropAuditTriggers, missingGuards } from '../../src/resource/audit/audit-triggers.js';
import { AuditUpkeep } from '../../src/resource/audit/audit-upkeep.js';
import type { ResourceRepository } from '../../src/resource/store/resource-repository.js';
import { prepareStorage } from '../../src/resource/usage/storage-row.js';
import { CreateDeeds1790000500000, Deed, DeedsModule, Rider } from '../deeds/deeds.js';
import { run } from '../support/command.js';
import { engineInUse } from '../support/engine.js';
import { expectError } from '../support/expect-error.js';
import { migrationOf } from '../support/migration-of.js';
import { Client, sharedService, startService } from '../support/service.js';
import { allLines, expectAgreement, expectChain, type Line, recordsOf } from '../deeds/trail.js';

const isSqlite = engineInUse() === 'sqlite';
const DATABASE_USER = isSqlite ? 'sqlite' : 'cookies';

type SqlWrites = Readonly<Record<string, [sql: (id: number) => string, operations: string]>>;

const RENAMING_TWICE = migrationOf('RenamingTwice2000000000000', async (runner) => {
  await dropAuditTriggers(runner, runner.dataSource, 'deeds');
  await runner.renameColumn('deeds', 'title', 'name');
  await runner.query(`INSERT INTO deeds (name) VALUES ('of a migration')`);
  await runner.renameColumn('deeds', 'name', 'title');
});

/** Leaves the table without a column of the entity, as a revert does. */
const RENAMING_AWAY = migrationOf('RenamingAway2000000001000', async (runner) => {
  await dropAuditTriggers(runner, runner.dataSource, 'deeds');
  await runner.renameColumn('deeds', 'title', 'former');
});

const RENAMING_BACK = migrationOf('RenamingBack2000000002000', async (runner) => {
  // On SQLite, the rename of a rebuilt table reads all triggers.
  await runner.addColumn('riders', new TableColumn({ name: 'speed', type: 'integer', isNullable: true }));
  await dropAuditTriggers(runner, runner.dataSource, 'deeds');
  await runner.renameColumn('deeds', 'former', 'title');
});

/** Makes a column optional that the entity requires, as a newer version does. */
const MAKING_TITLES_OPTIONAL = migrationOf('MakingTitlesOptional2000000003000', async (runner) => {
  await dropAuditTriggers(runner, runner.dataSource, 'deeds');
  await runner.changeColumn('deeds', 'title', new TableColumn({ name: 'title', type: 'varchar', isNullable: true }));
});

/** SQL of other writers on the deeds a, b and c with ids from `id` on, and the expected operations in the trail. */
const WRITES: SqlWrites = {
  'INSERT of several rows': [
    () => `INSERT INTO deeds (title, price) VALUES ('d', 1.5), ('e "', NULL)`,
    'create create',
  ],
  'INSERT with revisions that are made up': [
    () => `INSERT INTO deeds (title, revision) SELECT title, revision FROM deeds ORDER BY id`,
    'create create create',
  ],
  'UPDATE of all rows': [() => `UPDATE deeds SET title = 'x', price = 0.30`, 'update update update'],
  'UPDATE that changes nothing': [() => 'UPDATE deeds SET title = title', ''],
  'UPDATE of an id': [(id) => `UPDATE deeds SET id = ${id + 500} WHERE id = ${id}`, 'create delete'],
  'DELETE of two rows': [(id) => `DELETE FROM deeds WHERE id < ${id + 2}`, 'delete delete'],
  'INSERT ... ON CONFLICT DO UPDATE': [
    (id) => `INSERT INTO deeds (id, title) VALUES (${id}, 'x'), (${id + 700}, 'y')
             ON CONFLICT (id) DO UPDATE SET title = excluded.title`,
    'create update',
  ],
  ...(isSqlite
    ? {
        'REPLACE INTO': [(id) => `REPLACE INTO deeds (id, title) VALUES (${id}, 'x')`, 'create delete'],
        'UPDATE OR REPLACE': [
          (id) => `UPDATE OR REPLACE deeds SET id = ${id} WHERE id = ${id + 1}`,
          'create delete delete',
        ],
        'INSERT OR IGNORE': [
          (id) => `INSERT OR IGNORE INTO deeds (id, title) VALUES (${id}, 'x'), (NULL, 'y')`,
          'create',
        ],
      }
    : {
        COPY: [() => `COPY deeds (title) FROM PROGRAM 'printf "d\\ne\\n"'`, 'create create'],
        TRUNCATE: [() => 'TRUNCATE deeds CASCADE', 'delete delete delete'],
        'WITH ... DELETE ... INSERT': [
          (id) => `WITH gone AS (DELETE FROM deeds WHERE id = ${id} RETURNING title)
                   INSERT INTO deeds (title) SELECT * FROM gone`,
          'create delete',
        ],
      }),
};

describe(`the audit trail (${engineInUse()})`, () => {
  const environment = { LOG_LEVEL: 'silent', TRUST_PROXY: 'loopback' };
  const { service } = sharedService(environment, [DeedsModule], [new CreateDeeds1790000500000()]);
  const client = Client.of(service, { scope: 'deeds:write audit:read' });
  let source: DataSource;

  beforeAll(() => {
    source = service.app.get(DataSource);
  });

  const trail = (resource = 'deeds') => allLines(client, resource);
  const after = async (count: number) => (await trail()).slice(count);
  const count = async () => (await trail()).length;
  const post = (title: string, by = client) => by.request('POST', '/deeds', { body: { title, price: '12.30' } });
  const verify = () => run(service.folder, ['audit', 'verify']);
  const upkeep = () => service.app.get(AuditUpkeep, { strict: false });
  const records = () => service.app.get<ResourceRepository<Deed>>('DeedResourceRepository', { strict: false });

  it('has subject, time, address and values of each request', async () => {
    const began = Date.now();
    const before = await count();
    const { body: created } = await client.request('POST', '/deeds', {
      body: { title: 'Wiese "❄️" \\', price: '12.30' },
      headers: { 'x-request-id': 'first' },
    });
    const { body: replaced } = await client.request('PUT', `/deeds/${created.id}`, { body: { title: 'Hill' } });
    await client.request('PUT', `/deeds/${created.id}`, { body: { title: 'Hill' } });
    await client.request('DELETE', `/deeds/${created.id}`);
    const lines = await after(before);
    const common = { resource: 'deeds', record: String(created.id), subject: 'alice', databaseUser: DATABASE_USER };
    expect(lines).toMatchObject([
      { ...common, operation: 'create', before: null, after: created, requestId: 'first', address: '127.0.0.1' },
      { ...common, operation: 'update', before: created, after: replaced },
      { ...common, operation: 'delete', before: replaced, after: null },
    ]);
    for (const { at } of lines) {
      expect(at).toBe(new Date(at).toISOString());
      expect(Date.parse(at)).toBeGreaterThanOrEqual(began - 5);
      expect(Date.parse(at)).toBeLessThanOrEqual(Date.now() + 5);
    }
    expectChain(await trail());
  });

  it.each([
    ['192.0.2.7:5000', '192.0.2.7'],
    ['[2001:db8::7]:5000', '2001:db8::7'],
    ['<script>', '127.0.0.1'],
  ])('has the address that a proxy forwards, and no other text: %s', async (forwarded, address) => {
    const before = await count();
    const headers = { 'x-forwarded-for': forwarded };
    await client.request('POST', '/deeds', { body: { title: 'a', price: '12.30' }, headers });
    expect(await after(before)).toMatchObject([{ address }]);
  });

  it('names the subject of each of many requests that share a transaction', async () => {
    const before = await count();
    const names = ['ada', 'bob', 'cid', 'dee'];
    const clients = names.map((subject) => Client.of(service, { subject, scope: 'deeds:write' }));
    const each = Array.from({ length: 24 }, (_, index) => [names[index % 4]!, clients[index % 4]!] as const);
    const ids = await Promise.all(each.map(async ([name, by]) => (await post(`of ${name}`, by)).body.id as number));
    await Promise.all(
      each.map(([name, by], index) => by.request('PUT', `/deeds/${ids[index]}`, { body: { title: `by ${name}` } })),
    );
    await Promise.all(each.map(([, by], index) => by.request('DELETE', `/deeds/${ids[index]}`)));
    const lines = await after(before);
    expect(lines).toHaveLength(3 * 24);
    for (const { subject, before, after } of lines)
      expect((after ?? before)!['title']).toMatch(new RegExp(` ${subject}$`));
    expect(new Set(lines.map(({ requestId }) => requestId)).size).toBe(3 * 24);
    expectChain(await trail());
  });

  it('stores the change of a subject whose name no database can store', async () => {
    const odd = Client.of(service, { subject: 'a\0b\ud800', scope: 'deeds:write' });
    expect((await post('odd', odd)).status).toBe(201);
    expect((await trail()).at(-1)!.subject).toBe('a\ufffdb\ufffd');
    expectChain(await trail());
  });

  it.each(Object.entries(WRITES))(
    'has the changes of %s without the resource kit',
    async (_name, [sql, operations]) => {
      await source.query('DELETE FROM deeds');
      const { body: first } = await post('a');
      for (const title of ['b', 'c']) await post(title);
      const before = await count();
      await source.query(sql(first.id));
      const lines = await after(before);
      expect(lines.map(({ operation }) => operation).toSorted()).toEqual(operations.split(' ').filter(Boolean));
      for (const line of lines) {
        expect(line).toMatchObject({ subject: null, requestId: null, databaseUser: DATABASE_USER });
      }
      expectAgreement(await recordsOf(source, Deed), await trail());
      await upkeep().seal(new AbortController().signal);
      expectChain(await trail());
      await source.query('DELETE FROM deeds');
    },
  );

  it('has the changes of a repository, and of a cascade with its cause', async () => {
    const { body: deed } = await post('with riders');
    const riders = source.getRepository(Rider);
    await riders.insert([1, 2].map(() => ({ text: 'a rider', deedId: deed.id })));
    await client.request('DELETE', `/deeds/${deed.id}`);
    const lines = await trail('riders');
    const changes = lines.map(({ operation, subject }) => `${operation} ${subject}`);
    expect(changes).toEqual(['create null', 'create null', 'delete alice', 'delete alice']);
    await riders.insert({ text: 'another', deedId: (await post('again')).body.id });
    expect((await trail('riders')).at(-1)).toMatchObject({ operation: 'create', subject: null });
    expectAgreement(await recordsOf(source, Rider), await trail('riders'));
  });

  it('has no subject for SQL in the transaction of a request, and the actor of `actAs` for a job', async () => {
    const before = await count();
    await client.request('POST', '/deeds/pairs', { body: { title: 'pair', price: null } });
    const actor = { subject: 'nightly job' };
    await actAs(actor, () => records().create({ title: 'by a job', price: null, area: 1 / 3, isPublic: true }));
    const lines = await after(before);
    expect(lines.map(({ subject }) => subject)).toEqual(['alice', null, 'nightly job']);
    expect(lines[2]!.after).toMatchObject({ area: 1 / 3, isPublic: true });
  });

  if (isSqlite) {
    it('has the stored values of a record that no GET can return', async () => {
      await source.query(`INSERT INTO deeds (title, "createdAt") VALUES ('d', 'never')`);
      await source.query(`DELETE FROM deeds WHERE "createdAt" = 'never'`);
      const [created, deleted] = (await trail()).slice(-2);
      expect(created!.after).toMatchObject({ title: 'd', createdAt: 'never' });
      expect(deleted!.before).toEqual(created!.after);
    });
  }

  it('has no line of a change that is rolled back', async () => {
    const before = await count();
    const deeds = records();
    const failing = deeds.transaction(async (transaction) => {
      await deeds.in(transaction).create({ title: 'undone', price: null, area: 1, isPublic: false });
      await deeds.in(transaction).create({ title: '', price: null, area: 1, isPublic: false });
    });
    await expect(failing).rejects.toThrow();
    expect(await count()).toBe(before);
    const { body: deed } = await post('kept');
    await source.query(`INSERT INTO deeds (title) VALUES ('past the kit')`);
    expect(await after(before)).toMatchObject([{ record: String(deed.id), subject: 'alice' }, { subject: null }]);
    expectAgreement(await recordsOf(source, Deed), await trail());
  });

  it('cannot be changed, shortened or extended by SQL', async () => {
    await post('a line');
    const refused = [
      `UPDATE audit SET subject = 'eve'`,
      `UPDATE audit SET hash = 'x' WHERE sequence = 1`,
      'DELETE FROM audit',
      'DELETE FROM audit_chains',
      `INSERT INTO audit (resource, sequence, at, operation, record, database_user) VALUES ('deeds', 99999, '', 'update', '1', 'eve')`,
      ...(isSqlite ? [] : ['TRUNCATE audit', 'TRUNCATE audit_chains']),
    ];
    for (const sql of refused) await expect(source.query(sql)).rejects.toThrow(/audit trail/);
  });

  if (!isSqlite) {
    it('is not accessible for a role that may write to the table', async () => {
      const query = source.createQueryRunner();
      await query.startTransaction();
      try {
        const rights = 'GRANT SELECT, INSERT, UPDATE ON deeds, storage TO deed_writer';
        const sequences = 'GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO deed_writer';
        const asWriter = 'SET LOCAL SESSION AUTHORIZATION deed_writer';
        for (const sql of ['CREATE ROLE deed_writer', rights, sequences, asWriter]) await query.query(sql);
        await query.query(`INSERT INTO deeds (title) VALUES ('by the role')`);
        await query.query('SAVEPOINT written');
        for (const sql of ['DELETE FROM audit', 'SELECT * FROM audit', `UPDATE audit_chains SET hash = ''`]) {
          await expect(query.query(sql)).rejects.toThrow('permission denied');
          await query.query('ROLLBACK TO SAVEPOINT written');
        }
        await query.query('RESET SESSION AUTHORIZATION');
        const [line] = await query.query('SELECT * FROM audit ORDER BY sequence DESC LIMIT 1');
        expect(line).toMatchObject({ operation: 'create', database_user: 'deed_writer', subject: null });
      } finally {
        await query.rollbackTransaction();
        await query.release();
      }
    });
  }

  it('GET /audit returns pages with a Link, of one record if asked', async () => {
    const { body: deed } = await post('paged');
    await client.request('PUT', `/deeds/${deed.id}`, { body: { title: 'paged on' } });
    const first = await client.get(`/audit?resource=deeds&record=${deed.id}&limit=1`);
    const link = /^<(\/audit\?[^>]+)>; rel="next"$/.exec(first.headers.get('link')!)![1]!;
    const second = await client.get(link);
    expect([...first.body, ...second.body].map(({ operation }) => operation)).toEqual(['create', 'update']);
    expect(second.headers.get('link')).toBeNull();
    expect(first.headers.get('cache-control')).toBe('private, no-cache');
  });

  it('GET /audit is 403 without its own scope, 401 without a token, and 400 for a resource that is not audited', async () => {
    const other = Client.of(service, { scope: 'deeds:write deeds:read' });
    expectError(await other.get('/audit?resource=deeds'), 403, 'INSUFFICIENT_SCOPE');
    expectError(await Client.bearing(service).get('/audit?resource=deeds'), 401, 'UNAUTHENTICATED');
    for (const query of [
      '',
      'resource=cookies',
      ...['limit=0', 'after=x', 'after=9007199254740992', 'record=', 'page=2'].map((each) => `resource=deeds&${each}`),
    ]) {
      expectError(await client.get(`/audit?${query}`), 400, 'INVALID_REQUEST');
    }
    const { parameters, responses } = openApiDocument(service.app).paths['/audit']!.get!;
    expect(responses).toHaveProperty('403');
    expect(parameters).toMatchObject([
      { name: 'resource', schema: { minLength: 1, maxLength: 255 } },
      { name: 'record', schema: { minLength: 1, maxLength: 255 } },
      { name: 'after', schema: { minimum: 0, maximum: Number.MAX_SAFE_INTEGER } },
      { name: 'limit', schema: { minimum: 1, maximum: 200 } },
      { name: 'X-Request-Id' },
    ]);
  });

  it('is sealed up to the first missing line', async () => {
    await source.query("UPDATE audit_chains SET sequence = sequence + 1 WHERE resource = 'deeds'");
    await upkeep().seal(new AbortController().signal);
    await source.query("UPDATE audit_chains SET sequence = sequence - 1 WHERE resource = 'deeds'");
  });

  it('deletes only old lines, adds a line about it, and continues', async () => {
    await upkeep().seal(new AbortController().signal);
    const before = await trail();
    await source.query('DELETE FROM leases');
    await upkeep().prune(3_600_000);
    expect(await trail()).toEqual(before);
    await source.query('DELETE FROM leases');
    await upkeep().prune(-60_000);
    const [line, ...others] = await trail();
    expect(others).toEqual([]);
    expect(line).toMatchObject({ operation: 'prune', sequence: before.length + 1, after: { through: before.length } });
    await post('afterwards');
    await expect(source.query('DELETE FROM audit WHERE sequence > 1')).rejects.toThrow('cannot be deleted');
    const { code, stdout } = await verify();
    expect([code, stdout]).toEqual([0, expect.stringContaining(`deeds: 2 lines from ${before.length + 1} to`)]);
  });

  it('is pruned after a transaction that has written a line', async () => {
    await source.query('DELETE FROM leases');
    let pruned: Promise<void> | undefined;
    await source.transaction(async (manager) => {
      await manager.query("INSERT INTO deeds (title) VALUES ('meanwhile')");
      pruned = upkeep().prune(-60_000);
      await Promise.race([pruned, sleep(200)]);
    });
    await pruned;
    expect(await verify()).toMatchObject({ code: 0 });
  });

  (isSqlite ? it : it.skip)('is sealed 500 lines at a time, for which other requests wait', async () => {
    await upkeep().seal(new AbortController().signal);
    await source.query(`WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 501)
      INSERT INTO deeds (title) SELECT 'x' FROM numbers`);
    const ends = [false, true];
    await upkeep().seal({
      get aborted() {
        return ends.shift();
      },
    } as AbortSignal);
    expect((await trail()).filter(({ hash }) => hash === null)).toHaveLength(1);
    await source.query("DELETE FROM deeds WHERE title = 'x'");
  });

  describe('cli audit', () => {
    /** Runs SQL with the triggers of the trail disabled, which their owner may do. */
    const tamper = async (...statements: string[]): Promise<void> => {
      if (!isSqlite) {
        const [off, on] = ['DISABLE', 'ENABLE'].map((state) => `ALTER TABLE audit ${state} TRIGGER USER`);
        await source.transaction(async (manager) => {
          for (const sql of [off!, ...statements, on!]) await manager.query(sql);
        });
        return;
      }
      using database = openDatabase(join(service.folder, 'cookies.sqlite'), { timeout: 5000 });
      const triggers = database
        .prepare(`SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'audit'`)
        .all() as { name: string; sql: string }[];
      const drops = triggers.map(({ name }) => `DROP TRIGGER ${name}`);
      database.transaction(() => {
        for (const sql of [...drops, ...statements, ...triggers.map((trigger) => trigger.sql)]) database.exec(sql);
      })();
    };

    let last: number;
    beforeAll(async () => {
      for (const title of ['one', 'two', 'three', 'four', 'five']) await post(title);
      last = (await trail()).at(-1)!.sequence;
      await tamper('CREATE TABLE saved AS SELECT * FROM audit');
    });
    afterEach(() => tamper('DELETE FROM audit', 'INSERT INTO audit SELECT * FROM saved'));

    const swap = (column: string): string =>
      `UPDATE audit SET "${column}" = (SELECT "${column}" FROM saved WHERE saved.resource = 'deeds'
         AND saved.sequence = CASE audit.sequence WHEN @1 THEN @2 ELSE @1 END) WHERE resource = 'deeds' AND sequence IN (@1, @2)`;
    const ALL = ['at', 'record', 'subject', 'request_id', 'after', 'previous', 'hash'];
    const COLUMNS = 'at, operation, record, database_user, previous, hash';
    const where = (line: string): string => `WHERE resource = 'deeds' AND sequence ${line}`;
    it.each([
      ['changed', `UPDATE audit SET subject = 'eve' ${where('= @1')}`, 'line @1 was changed'],
      [
        'changed in its time',
        `UPDATE audit SET at = '2026-01-01T00:00:00.000Z' ${where('= @2')}`,
        'line @2 was changed',
      ],
      ['removed', `DELETE FROM audit ${where('= @1')}`, 'line @1 is missing'],
      ['removed at the end', `DELETE FROM audit ${where('>= @2')}`, 'lines @2 to @3 are missing'],
      ['removed, all of them', `DELETE FROM audit ${where('> 0')}`, 'lines 1 to @3 are missing'],
      ['swapped', ALL.map(swap).join(';'), 'line @1 was changed'],
      [
        'added',
        `INSERT INTO audit (resource, sequence, ${COLUMNS})
         SELECT resource, sequence + 1, ${COLUMNS} FROM audit ${where('= @3')}`,
        'line @4 was changed',
      ],
      [
        'robbed of its hash',
        `UPDATE audit SET hash = NULL, previous = NULL ${where('= @1')}`,
        'line @1 has lost its hash',
      ],
    ])('verify fails when a line is %s, and names it', async (_how, statements, message) => {
      const numbered = (text: string): string =>
        text.replaceAll(/@(\d)/g, (_, place) => String(last + [0, -3, -1, 0, 1][Number(place)]!));
      await tamper(numbered(statements));
      expect(await verify()).toMatchObject({ code: 1, stderr: expect.stringContaining(`deeds: ${numbered(message)}`) });
    });

    it('verify fails when the row of a chain is missing, without which no line would be verified', async () => {
      await source.query("UPDATE audit_chains SET resource = 'lost' WHERE resource = 'deeds'");
      const { code, stderr } = await verify();
      await source.query("UPDATE audit_chains SET resource = 'deeds' WHERE resource = 'lost'");
      expect([code, stderr]).toEqual([1, expect.stringContaining('deeds: it has no row in audit_chains')]);
    });

    it('a deletion needs the last prune line: a search of all prune lines would take long', async () => {
      const prune = (place: number, through: number): string =>
        `INSERT INTO audit (resource, sequence, at, operation, record, database_user, "after")
         VALUES ('deeds', ${last + place}, '2026-01-01T00:00:00.000Z', 'prune', '', 'x', '{"through":${through}}')`;
      await tamper(prune(1, last), prune(2, last - 1));
      await expect(source.query(`DELETE FROM audit WHERE sequence = ${last}`)).rejects.toThrow('cannot be deleted');
      await source.query(`DELETE FROM audit WHERE sequence = ${last - 1}`);
    });

    it('an old time in a line deletes no newer line before it', async () => {
      await tamper(`UPDATE audit SET at = '2020-01-01T00:00:00.000Z' WHERE resource = 'deeds' AND sequence = ${last}`);
      await source.query('DELETE FROM leases');
      await upkeep().prune(3_600_000);
      expect((await trail()).at(-1)).toMatchObject({ sequence: last, operation: 'create' });
    });

    it('verify fails when a trigger that protects the trail is missing or disabled', async () => {
      const [off, name] = isSqlite
        ? ['DROP TRIGGER audit_seal', 'audit_seal']
        : ['ALTER TABLE audit DISABLE TRIGGER audit_guard_row', 'audit_guard_row'];
      const found: string[][] = [];
      const undone = source.transaction(async (manager) => {
        const runner = { query: <Rows>(sql: string): Promise<Rows> => manager.query(sql) };
        found.push(await missingGuards(runner, source));
        await manager.query(off);
        found.push(await missingGuards(runner, source));
        throw new Error('undone');
      });
      await expect(undone).rejects.toThrow('undone');
      expect(found).toEqual([[], [name]]);
    });

    it('verify succeeds otherwise, and export writes every line', async () => {
      const lines = await trail();
      expect(await verify()).toMatchObject({ code: 0, stdout: expect.stringContaining(lines.at(-1)!.hash!) });
      const { code, stdout, stderr } = await run(service.folder, ['audit', 'export', 'deeds']);
      expect(code).toBe(0);
      const exported = stdout.trimEnd().split('\n');
      expect(exported.map((line) => JSON.parse(line) as Line)).toEqual(lines);
      expect(stderr).toMatch(new RegExp(`^Exported ${lines.length} lines, sha256 [0-9a-f]{64}\n$`));
      expect(await run(service.folder, ['audit', 'export', 'jars'])).toMatchObject({ code: 2 });
    });
  });

  it('goes on at the start of a version that does not declare it, ends on request, and begins with the declaration', async () => {
    const before = await count();
    const insert = () => source.query(`INSERT INTO deeds (title) VALUES ('of another version')`);
    const unaudited = { resource: 'deeds', capacity: 1000, audited: false };
    await prepareStorage(source, unaudited);
    await insert();
    expect(await count()).toBe(before + 1);
    await prepareStorage(source, unaudited, true);
    await insert();
    expect(await count()).toBe(before + 1);
    await prepareStorage(source, { ...unaudited, audited: true });
    await insert();
    expect(await count()).toBe(before + 2);
  });

  it('continues, like count and revision, beside a migration that drops the triggers', async () => {
    const deeds = `SELECT epoch, revision, used FROM storage WHERE resource = 'deeds'`;
    const [before] = await source.query<[{ epoch: string; used: number }]>(deeds);
    const lines = await count();
    source.migrations.push(RENAMING_TWICE);
    await migrate(source);
    const [migrated] = await source.query<[{ revision: number }]>(deeds);
    await source.query(`INSERT INTO deeds (title) VALUES ('beside')`);
    const [after] = await source.query<[object]>(deeds);
    expect(after).toMatchObject({ used: before.used + 2, revision: migrated.revision + 1 });
    expect(after).not.toMatchObject({ epoch: before.epoch });
    expect(await count()).toBe(lines + 1);
  });

  it('lets rows and other tables change when the table lacks a column of the entity, as after a revert', async () => {
    const lines = await count();
    source.migrations.push(RENAMING_AWAY);
    await migrate(source);
    await source.query(`INSERT INTO deeds (former) VALUES ('reverted')`);
    expect(await count()).toBe(lines + 1);
    source.migrations.push(RENAMING_BACK);
    await migrate(source);
    await source.query(`INSERT INTO deeds (title) VALUES ('back')`);
    expect(await count()).toBe(lines + 2);
  });

  it('has a record without a required value as a GET returns it, while a newer version has made the value optional', async () => {
    source.migrations.push(MAKING_TITLES_OPTIONAL);
    await migrate(source);
    await source.query('INSERT INTO deeds (price) VALUES (1.5)');
    const { after: created } = (await trail()).at(-1)!;
    expect(created).toMatchObject({ title: null, price: '1.50' });
    expect(created).not.toHaveProperty('revision');
  });
});

describe(`a service without audited resources (${engineInUse()})`, () => {
  it('has no route, no trigger and no line of the trail', async () => {
    await using service = await startService();
    const client = Client.of(service, { scope: 'cookies:write audit:read' });
    expect((await client.post({ flavor: 'vanilla', size: 'small', wish: 'unseen' })).status).toBe(201);
    expect((await client.get('/audit?resource=cookies')).status).toBe(404);
    expect(openApiDocument(service.app).paths).not.toHaveProperty('/audit');
    const source = service.app.get(DataSource);
    const triggers = isSqlite
      ? `SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'cookies_audit%'`
      : `SELECT tgname FROM pg_trigger WHERE tgname LIKE 'cookies_audit%'`;
    for (const sql of [triggers, 'SELECT * FROM audit']) expect(await source.query(sql)).toEqual([]);
  });
});
