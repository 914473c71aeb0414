import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DataSource } from 'typeorm';
import { CreateDeeds1790000500000, Deed, DeedsModule } from '../deeds/deeds.js';
import { allLines, expectAgreement, expectChain, recordsOf } from '../deeds/trail.js';
import { inDatabase, run } from '../support/command.js';
import { openDataSource } from '../support/data-source.js';
import { databaseUrlFor, engineInUse, provideDatabase } from '../support/engine.js';
import { AUDITED_COOKIES } from '../support/faults/audited-cookies.js';
import { type Answer, Client, COOKIE, environmentIn, startService, temporaryFolder } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';

const SCOPE = 'cookies:read cookies:write deeds:write audit:read';

describe(`the audit trail of two services on one database (${engineInUse()})`, () => {
  it('has one chain while requests to both and SQL write at the same time', async () => {
    await using first = await startService({}, [DeedsModule], [new CreateDeeds1790000500000()]);
    await using second = await startService({ DATABASE_URL: databaseUrlFor(first.folder) }, [DeedsModule]);
    const clients = [first, second].map((service) => Client.of(service, { scope: SCOPE }));
    const sources = [first, second].map(({ app }) => app.get(DataSource));
    const work = Array.from({ length: 30 }, async (_, index) => {
      const [client, source] = [clients[index % 2]!, sources[index % 2]!];
      const created = await client.request('POST', '/deeds', { body: { title: `deed ${index}`, price: null } });
      expect(created.status).toBe(201);
      await source.query(`INSERT INTO deeds (title) VALUES ('past the kit')`);
      await client.request('PUT', `/deeds/${created.body.id}`, { body: { title: 'changed' } });
      if (index % 3 === 0) await client.request('DELETE', `/deeds/${created.body.id}`);
    });
    await Promise.all(work);
    await clients[0]!.request('POST', '/deeds', { body: { title: 'the last one', price: null } });
    const lines = await allLines(clients[1]!, 'deeds');
    expect(lines).toHaveLength(30 * 3 + 10 + 1);
    expectChain(lines);
    expectAgreement(await recordsOf(sources[0]!, Deed), lines);
    expect(await run(first.folder, ['audit', 'verify'])).toMatchObject({ code: 0 });
  });
});

describe(`the audit trail after npm run migration:run (${engineInUse()})`, () => {
  it('has a line for a write before the first start of the service', async () => {
    const folder = temporaryFolder();
    await provideDatabase(folder);
    const env = { PATH: process.env['PATH'], ...environmentIn(folder, { NODE_ENV: 'production' }), ...AUDITED_COOKIES };
    const args = ['node_modules/typeorm/cli.js', 'migration:run', '-d', 'dist/ormconfig.js'];
    await promisify(execFile)(process.execPath, args, { env });
    await using dataSource = await openDataSource({}, undefined, folder);
    await dataSource.query("INSERT INTO cookies (flavor, size, wish) VALUES ('vanilla', 'small', 'Rain')");
    expect(await dataSource.query('SELECT operation FROM audit')).toEqual([{ operation: 'create' }]);
  });
});

describe(`the audit trail after kill -9 (${engineInUse()})`, () => {
  let folder: string;
  let service: ServiceProcess;

  beforeAll(async () => {
    folder = temporaryFolder();
    service = await ServiceProcess.start(folder, AUDITED_COOKIES);
  });

  afterAll(() => service.end('SIGKILL'));

  const post = (client: Client, wish: string): Promise<Answer> =>
    client.post({ ...COOKIE, wish }, { 'idempotency-key': wish });

  /** The responses to all POSTs, by wish; `undefined` where the client got none. */
  const posted = new Map<string, Answer | undefined>();

  /** Posts, changes and deletes cookies until the service ends, and collects the ids of acknowledged changes. */
  async function write(client: Client, name: string, acknowledged: string[]): Promise<void> {
    const send = async (answer: Promise<Answer>): Promise<Answer> => {
      const { status, text, headers } = await answer;
      if (status >= 300) throw new Error(text);
      acknowledged.push(headers.get('x-request-id')!);
      return answer;
    };
    for (let turn = 0; turn < 1000; turn++) {
      const wish = `${name}-${turn}`;
      try {
        posted.set(wish, undefined);
        const created = await send(post(client, wish));
        posted.set(wish, created);
        const path = `/cookies/${created.body.id}`;
        await send(client.request('PATCH', path, { body: { size: 'large' } }));
        if (turn % 2 === 0) await send(client.request('DELETE', path));
      } catch {
        return;
      }
    }
    throw new Error('The service was not killed');
  }

  it('agrees with the records, and has each acknowledged change', async () => {
    const client = Client.of(service, { scope: SCOPE });
    const acknowledged: string[] = [];
    const writers = Array.from({ length: 12 }, (_, index) => write(client, `${index}`, acknowledged));
    await until(
      () => acknowledged.length > 60,
      () => '60 changes',
      60_000,
    );
    await service.end('SIGKILL');
    await Promise.all(writers);
    service = await ServiceProcess.start(folder, AUDITED_COOKIES);
    const again = Client.of(service, { scope: SCOPE });
    const lines = await allLines(again, 'cookies');
    expectChain(lines);
    expectAgreement((await again.get('/cookies')).body, lines);
    const known = new Set(lines.map(({ requestId }) => requestId));
    expect(acknowledged.filter((id) => !known.has(id))).toEqual([]);
    expect(await run(folder, ['audit', 'verify'])).toMatchObject({ code: 0 });
  });

  it('has one creation for each Idempotency-Key, whose POST gets its first response again', async () => {
    const client = Client.of(service, { scope: SCOPE });
    const replays = [...posted].map(async ([wish, before]) => {
      const { status, text, headers } = await post(client, wish);
      const isRepeated = headers.has('idempotency-replayed');
      expect([wish, status, text, isRepeated]).toEqual([wish, 201, before?.text ?? text, before ? true : isRepeated]);
    });
    await Promise.all(replays);
    const created = (await allLines(client, 'cookies')).filter(({ operation }) => operation === 'create');
    expect(created).toHaveLength(posted.size);
  });

  if (engineInUse() === 'sqlite') {
    it('has its triggers: doctor says when they are missing, and makes them', async () => {
      const doctor = (...args: string[]) => run(folder, ['doctor', ...args], { environment: AUDITED_COOKIES });
      expect((await doctor()).stdout).not.toContain('triggers');
      inDatabase(folder, (database) => database.exec('DROP TRIGGER cookies_audit_update'));
      expect(await doctor()).toMatchObject({
        code: 1,
        stdout: expect.stringContaining('the triggers that audit the cookies are missing or outdated'),
      });
      expect((await doctor('--fix')).stdout).toContain('audit the cookies are missing or outdated: corrected');
      expect((await doctor()).stdout).not.toContain('triggers');
      inDatabase(folder, (database) => database.exec('DROP TRIGGER cookies_audit_update; DROP TRIGGER cookies_insert'));
      expect((await doctor('--fix')).stdout).toMatch(/count the cookies .*audit the cookies .*: corrected/);
    });

    it('goes on beside a version that does not audit: its doctor says so, and ends it with --fix', async () => {
      const left =
        'changes of the cookies are in the audit trail, though this version does not audit them (a newer one may)';
      const unaudited = await run(folder, ['doctor']);
      expect(unaudited).toMatchObject({ code: 1, stdout: expect.stringContaining(left) });
      expect(unaudited.stdout).not.toContain('missing or outdated');
      expect((await run(folder, ['doctor', '--fix'])).stdout).toContain(`${left}: corrected`);
      expect((await run(folder, ['doctor'])).code).toBe(0);
      expect(await run(folder, ['doctor', '--fix'], { environment: AUDITED_COOKIES })).toMatchObject({ code: 0 });
    });

    it('is in a backup, and goes on after a restore', async () => {
      const client = Client.of(service, { scope: SCOPE });
      const before = await allLines(client, 'cookies');
      const backup = join(folder, 'backup.sqlite');
      expect(await run(folder, ['backup', backup])).toMatchObject({ code: 0 });
      await client.post(COOKIE);
      await service.end();
      expect(await run(folder, ['restore', backup])).toMatchObject({ code: 0 });
      service = await ServiceProcess.start(folder, AUDITED_COOKIES);
      const again = Client.of(service, { scope: SCOPE });
      expect(await allLines(again, 'cookies')).toEqual(before);
      expect((await again.post(COOKIE)).status).toBe(201);
      const lines = await allLines(again, 'cookies');
      expect(lines).toHaveLength(before.length + 1);
      expectChain(lines);
      expectAgreement((await again.get('/cookies')).body, lines);
    });

    it('rejects a restore of a backup whose trail can be changed', async () => {
      const backup = join(folder, 'backup.sqlite');
      inDatabase(folder, (database) => database.exec('DROP TRIGGER audit_delete'), 'backup.sqlite');
      expect(await run(folder, ['restore', '--verify', backup])).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('it lacks the trigger audit_delete'),
      });
    });
  }
});
