import { lines, line, run } from '../support/command.js';
import { createDatabase, describePostgres } from '../support/engine.js';
import { TcpProxy } from '../support/faults/tcp-proxy.js';
import { onServer } from '../support/postgres/postgres-server.js';
import { Client, COOKIE, startService, temporaryFolder } from '../support/service.js';
import { endedWith, expectEnd } from './ended-with.js';

const CAPACITY = { COOKIES_CAPACITY: '100000' };

let databases = 0;

describePostgres('the command line and PostgreSQL', () => {
  let folder: string;
  let url: string;
  let postgres: Record<string, string>;

  beforeEach(async () => {
    folder = temporaryFolder();
    url = await createDatabase(`cookies_cli_${process.pid}_${++databases}`);
    postgres = { ...CAPACITY, DATABASE_URL: url };
  });

  const onPostgres = (args: string[], input?: string) => run(folder, args, { input, environment: postgres });

  const stored = () =>
    onServer(url, async (client) => {
      const { rows } = await client.query(
        `SELECT used::int, (SELECT count(*)::int FROM cookies) AS count, epoch FROM storage WHERE resource = 'cookies'`,
      );
      return rows[0] as { used: number; count: number; epoch: string };
    });

  describe('with a user who is not the owner of the tables', () => {
    const role = `ordinary_${process.pid}`;
    const execute = (sql: string) => onServer(url, (client) => client.query(sql));
    let environment: Record<string, string>;
    const doctor = (...args: string[]) => run(folder, ['doctor', ...args], { environment });

    beforeEach(async () => {
      await execute(`CREATE ROLE ${role} LOGIN PASSWORD 'p'`);
      environment = { DATABASE_URL: Object.assign(new URL(url), { username: role, password: 'p' }).href };
    });

    afterEach(() => execute(`DROP OWNED BY ${role}; DROP ROLE ${role}`));

    it('is checked by doctor, which reports that the user may not make the tables', async () => {
      const { code, stdout } = await doctor();
      expect(code).toBe(1);
      expect(stdout).toMatch(/^FAIL {2}migrations .*the user may not create tables: make the user the owner/m);
    });

    it('is checked by doctor, whose GRANT gives all rights that a POST needs, which is 503 before', async () => {
      await onPostgres(['migrate']);
      await execute(`GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role};
        GRANT INSERT, UPDATE, DELETE ON storage, leases, audit, audit_chains TO ${role}`);
      await using service = await startService(environment);
      const answers: unknown[] = [];
      // First the user lacks a right to tables, then to the sequence of ids.
      while (answers.length < 3) {
        const { status } = await Client.of(service).post(COOKIE);
        const { code, stdout } = await doctor();
        answers.push([status, code]);
        const advice = /^FAIL {2}server .*may not change .*: make the user the owner, or run (GRANT [^;\n]+)/m;
        const grant = advice.exec(stdout)?.[1];
        expect(grant ?? '').not.toContain('"storage"');
        if (grant !== undefined) await execute(`${grant} TO ${role}`);
      }
      expect(answers).toEqual([
        [503, 1],
        [503, 1],
        [201, 0],
      ]);
    });

    it('works with the rights that doctor names and no others, after starts that name the missing right', async () => {
      await onPostgres(['migrate']);
      // As on a server before PostgreSQL 15, where all users may make tables.
      await execute(`GRANT CREATE ON SCHEMA public TO ${role}`);
      const denied = /lacks a right \(permission denied for table migrations\)/;
      await expect(startService(environment)).rejects.toThrow(denied);
      environment = { ...environment, MIGRATE_ON_START: 'false' };
      await expect(startService(environment)).rejects.toThrow(denied);
      const grants = /^FAIL {2}server .*, or run (GRANT .+)/m.exec((await doctor()).stdout)![1]!.split('; ');
      expect(grants).toContain('GRANT SELECT, UPDATE ON "audit_chains"');
      for (const grant of grants) await execute(`${grant} TO ${role}`);
      await using service = await startService(environment);
      expect((await Client.of(service).post(COOKIE)).status).toBe(201);
      expect(await doctor()).toMatchObject({ code: 0 });
    });

    it('counts nothing with doctor --fix while row level security hides rows, and names the tables', async () => {
      await onPostgres(['import', 'cookies'], lines(3));
      await execute(`ALTER TABLE cookies ENABLE ROW LEVEL SECURITY;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`);
      const { code, stdout } = await doctor('--fix');
      await execute('ALTER TABLE cookies DISABLE ROW LEVEL SECURITY');
      const advice = /^FAIL {2}(fix|server) .*run ALTER TABLE "cookies" DISABLE ROW LEVEL SECURITY$/gm;
      expect({ code, advice: stdout.match(advice)?.length }).toEqual({ code: 1, advice: 2 });
      expect(await stored()).toMatchObject({ used: 3, count: 3 });
    });
  });

  it('that loses the response to a COMMIT of an import may have stored its lines, as the message says', async () => {
    await onPostgres(['migrate']);
    const input = lines(2500);
    const importing = (environment: Record<string, string>, ...options: string[]) =>
      run(folder, ['import', 'cookies', '--ids', 'assign', ...options], { input, environment });
    await using proxy = await TcpProxy.start(url);
    proxy.loseResponseTo('; COMMIT');
    const lossy = { ...postgres, DATABASE_URL: proxy.url, MIGRATE_ON_START: 'false' };
    const advice =
      'The last lines may be stored or not. Go on with: import cookies the same input --resume\nIf there is';
    const begun = await importing(lossy);
    expect(begun).toMatchObject(endedWith(1, new RegExp(`${advice} nothing to resume, no line is stored`)));
    expect(await stored()).toMatchObject({ count: 1000 });
    const resumed = await importing(lossy, '--resume');
    expect(resumed).toMatchObject(endedWith(1, new RegExp(`${advice} nothing to resume, all lines are stored`)));
    expect(await stored()).toMatchObject({ count: 2000 });
    expect(await importing(postgres, '--resume')).toMatchObject({ code: 0 });
    expect(await stored()).toMatchObject({ count: 2500 });
  });

  it('gives the next cookie an id greater than all others, and the list a new ETag', async () => {
    await using service = await startService(postgres);
    const client = Client.of(service);
    const { headers } = await client.get('/cookies?limit=1');
    // Ids may come in any order, within an import and from one import to the next.
    await onPostgres(['import', 'cookies'], line({ id: 41 }) + line({ id: 7 }));
    await onPostgres(['import', 'cookies'], line({ id: 12 }));
    expect((await client.get('/cookies?limit=1')).headers.get('etag')).not.toBe(headers.get('etag'));
    expect(await client.post(COOKIE)).toMatchObject({ status: 201, body: { id: 42 } });
  });

  it('keeps the last given id, from SQLite and back, also of an empty storage', async () => {
    for (const text of ['{"lastId":9}\n', `${lines(3)}{"lastId":50}\n`]) {
      expect(await onPostgres(['import', 'cookies'], text)).toMatchObject({ code: 0 });
      expect((await onPostgres(['export', 'cookies'])).stdout).toBe(text);
    }
    await using service = await startService(postgres);
    expect((await Client.of(service).post(COOKIE)).body.id).toBe(51);
  });

  it('counts the cookies again with doctor --fix, while the service serves', async () => {
    await onPostgres(['import', 'cookies'], lines(3));
    await onServer(url, (client) => client.query("UPDATE storage SET used = 7 WHERE resource = 'cookies'"));
    const { code, stdout } = await onPostgres(['doctor', '--fix']);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^FIX {3}counter +counted again: there are 3 cookies/m)]);
    expect(await stored()).toMatchObject({ used: 3, count: 3 });
  });

  it('corrects with doctor --fix a sequence of ids that a copy of the records has left behind', async () => {
    await onPostgres(['import', 'cookies'], lines(3));
    await onServer(url, (client) => client.query(`SELECT setval(pg_get_serial_sequence('cookies', 'id'), 1)`));
    const behind = expect.stringMatching(
      /^FAIL {2}counter +the next ids of the cookies are taken, up to 3: POST is 409: run/m,
    );
    expect(await onPostgres(['doctor'])).toMatchObject({ code: 1, stdout: behind });
    await using service = await startService(postgres);
    expect((await Client.of(service).post(COOKIE)).status).toBe(409);
    const fixed = expect.stringMatching(/^FIX {3}counter +the next id of the cookies is greater than 3$/m);
    expect(await onPostgres(['doctor', '--fix'])).toMatchObject({ code: 0, stdout: fixed });
    expect((await Client.of(service).post(COOKIE)).body.id).toBe(4);
  });

  it.each([
    ['backup', 'pg_dump'],
    ['restore', 'pg_restore'],
  ])('leaves %s to %s', async (command, program) => {
    await expectEnd(onPostgres([command, 'file.sqlite']), 1, program);
  });

  it('is checked by doctor, which reports the problem but never the password', async () => {
    await onPostgres(['import', 'cookies'], lines(3));
    const sound = await onPostgres(['doctor']);
    expect(sound).toMatchObject({ code: 0, stdout: expect.stringContaining('3 cookies of 100000') });
    await onServer(url, (client) => client.query(`UPDATE storage SET used = 4 WHERE resource = 'cookies'`));
    const stdout = expect.stringMatching(/FAIL +counter +it says 4, and there are 3/);
    expect(await onPostgres(['doctor'])).toMatchObject({ code: 1, stdout });
    const { password } = new URL(url);
    const away = new URL(url);
    away.port = '1';
    const absent = await run(folder, ['doctor'], { environment: { ...postgres, DATABASE_URL: away.href } });
    expect(absent).toMatchObject({ code: 1, stdout: expect.stringMatching(/FAIL +migrations/) });
    expect(absent.stdout + absent.stderr).not.toContain(decodeURIComponent(password));
  });
});
