import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import { type CapturedLine, captureLog, problemsIn } from '../support/captured-log.js';
import { leaveNoRoom } from '../support/faults/full-database.js';
import { describePostgres } from '../support/engine.js';
import { expectError } from '../support/expect-error.js';
import { onServer, PostgresServer } from '../support/postgres/postgres-server.js';
import { Client, COOKIE, sharedService, startService, temporaryFolder } from '../support/service.js';
import { metricsOf } from '../support/metrics.js';
import { type LogLine, ServiceProcess } from '../support/service-process.js';
import { shared } from '../support/shared.js';

const PAGE = 4096;
const RECORDS = 20_000;

const hasStack = ({ message, rest }: CapturedLine): boolean => /\n +at /.test([message, ...rest].join('\n'));

const metric = async (service: { readonly managementUrl: string }, name: string): Promise<number> =>
  (await metricsOf(service)).get(name) ?? NaN;

/** Overwrites a page of the table with 0xff. */
function damage(path: string): void {
  const file = openDatabase(path, { timeout: 10_000 });
  file
    .prepare(
      `WITH RECURSIVE numbers(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM numbers WHERE id < ${RECORDS})
     INSERT INTO cookies (flavor, size, wish) SELECT 'vanilla', 'small', 'wish ' || id FROM numbers`,
    )
    .run();
  // Otherwise the page in the write-ahead log would be read, not the damaged one.
  expect(file.pragma('wal_checkpoint(TRUNCATE)')).toMatchObject([{ busy: 0 }]);
  const leaves = `SELECT pageno FROM dbstat WHERE name = 'cookies' AND pagetype = 'leaf' ORDER BY path`;
  const pages = file.prepare(leaves).pluck().all() as number[];
  file.close();
  const descriptor = openSync(path, 'r+');
  writeSync(descriptor, Buffer.alloc(PAGE, 0xff), 0, PAGE, (pages[Math.floor(pages.length / 2)]! - 1) * PAGE);
  closeSync(descriptor);
}

describe('the log of a service with problems', () => {
  it('names the problem and the remedy when POST is 500 without the storage row of a resource', async () => {
    await using service = await startService();
    const client = Client.of(service);
    expect((await client.post(COOKIE)).status).toBe(201);
    await service.app.get(DataSource).query("DELETE FROM storage WHERE resource = 'cookies'");
    const lines = captureLog();
    expect((await client.post(COOKIE)).status).toBe(500);
    const [line] = problemsIn(lines);
    expect([line?.message, ...(line?.rest ?? [])].join(' ')).toMatch(/no row for "cookies".*restore a backup/s);
  });

  describe('with a damaged page', () => {
    const { service, client } = sharedService({ COOKIES_CAPACITY: '1000000' });
    let lines: CapturedLine[];

    beforeAll(() => {
      damage(join(service.folder, 'cookies.sqlite'));
      lines = captureLog();
    });

    it('has an error for each GET of a list that breaks off, with cause, request id and route', async () => {
      for (const id of ['first-list', 'second-list']) {
        await expect(client.get('/cookies', { 'x-request-id': id })).rejects.toThrow();
        const [line] = lines.filter(({ message }) => message.includes(`(request ${id})`));
        expect(line).toMatchObject({
          level: 'error',
          message: expect.stringMatching(/^GET \/cookies broke off .*SQLITE_CORRUPT.*malformed/),
        });
      }
      expect(lines.filter(hasStack)).toEqual([]);
    });

    it('has one error for all requests that are rejected with 503, and the metric counts them', async () => {
      const before = await metric(service, 'database_errors_total{kind="corrupt"}');
      expect(before).toBeGreaterThan(0);
      const responses = await Promise.all(
        Array.from({ length: 5 }, () => client.get('/cookies?limit=1000&flavor=chocolate')),
      );
      expect(responses.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
      expect(await metric(service, 'database_errors_total{kind="corrupt"}')).toBe(before + 5);
      const damaged = lines.filter(({ message }) => message.startsWith('The database is damaged'));
      expect(damaged).toMatchObject([{ level: 'error', message: expect.stringMatching(/SQLITE_CORRUPT.*first-list/) }]);
      expect(problemsIn(lines)).toHaveLength(3);
    });
  });

  it('has one error without a stack for all writes that are rejected with 507 DISK_FULL, and PATCH and PUT are, too', async () => {
    await using service = await startService();
    const client = Client.of(service);
    const { id } = (await client.post(COOKIE)).body;
    const lines = captureLog();
    leaveNoRoom(service);
    const requests = [
      client.post(COOKIE),
      client.request('PUT', `/cookies/${id}`, { body: { flavor: 'chocolate', size: 'small' } }),
      client.request('PATCH', `/cookies/${id}`, { body: { flavor: 'chocolate' } }),
    ];
    for (const response of await Promise.all(requests)) {
      expectError(response, 507, 'DISK_FULL');
      expect(response.body.message).toBe('Storage is full');
    }
    expect((await client.get(`/cookies/${id}`)).status).toBe(200);
    expect(problemsIn(lines)).toMatchObject([
      {
        level: 'error',
        message: expect.stringMatching(/^The volume of the database is full/),
      },
    ]);
    expect(lines.filter(hasStack)).toEqual([]);
    // The error is counted once for each group commit.
    expect(await metric(service, 'database_errors_total{kind="full"}')).toBeGreaterThanOrEqual(1);
    expect(await metric(service, 'database_volume_free_bytes')).toBeGreaterThan(0);
  });

  describePostgres('on PostgreSQL', () => {
    // It runs before those of `shared`.
    afterAll(async () => expect(await service.end()).toBe(0));

    const server = shared(() => PostgresServer.create());
    const service = shared(() => ServiceProcess.start(temporaryFolder(), { DATABASE_URL: server.url() }));

    const problemLines = (): LogLine[] =>
      service.lines.filter(({ msg }) => /^(The database (is|cannot)|Requests are|The volume)/.test(msg));

    it('logs once that the server cannot be reached, then the number of rejections, and once that there are no more', async () => {
      const client = Client.of(service);
      expect((await client.post(COOKIE)).status).toBe(201);
      await server.stop();
      for (let count = 0; count < 5; count++) expect((await client.get('/cookies/1')).status).toBe(503);
      expect((await client.post(COOKIE)).status).toBe(503);
      await service.printed('no more rejections');
      await server.start();
      expect((await client.get('/cookies/1')).status).toBe(200);
      expect(problemLines().map(({ level, msg }) => ({ level, msg }))).toEqual([
        {
          level: 'error',
          msg: expect.stringMatching(
            /^The database cannot be reached: (?!.*cannot be reached).*(ECONNREFUSED|terminat)/,
          ),
        },
        { level: 'error', msg: 'The database cannot be reached: 5 more requests in 10 s' },
        {
          level: 'info',
          msg: expect.stringMatching(
            /^The database cannot be reached: no more rejections in the last 10 s; 6 in all in 2\d s$/,
          ),
        },
      ]);
      // The only lines with the reason if readiness keeps all requests away.
      const polls = service.lines.filter(({ msg }) => msg.startsWith('Changes of '));
      expect(polls.map(({ msg }) => msg)).toEqual(
        Array(2).fill(expect.stringMatching(/^Changes of \w+ cannot be read: .+: .*(ECONNREFUSED|terminat)/)),
      );
      expect(service.output).not.toMatch(/\\n +at /);
      expect(await metric(service, 'database_errors_total{kind="unreachable"}')).toBeGreaterThan(0);
    });

    /** Lets every POST fail at the server with an SQLSTATE. */
    const failWith = (code: string) =>
      onServer(server.url(), (client) =>
        client.query(`
          CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '${code}'; END $$;
          CREATE OR REPLACE TRIGGER fail BEFORE UPDATE ON storage EXECUTE FUNCTION fail()`),
      );

    it('responds 503 if the server lacks memory (SQLSTATE 53200)', async () => {
      await failWith('53200');
      const response = await Client.of(service).post(COOKIE);
      expectError(response, 503, 'SERVICE_UNAVAILABLE');
      expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    });

    it('responds 507 DISK_FULL if the server has no space (SQLSTATE 53100), with one error', async () => {
      await failWith('53100');
      const client = Client.of(service);
      for (let count = 0; count < 3; count++) {
        expect((await client.post(COOKIE)).body).toMatchObject({ statusCode: 507, errorCode: 'DISK_FULL' });
      }
      await sleep(1200);
      expect(problemLines().filter(({ msg }) => msg.startsWith('The volume'))).toMatchObject([
        { level: 'error', msg: expect.stringMatching(/could not extend file/) },
      ]);
    });
  });
});
