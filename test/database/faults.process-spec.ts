import fs from 'node:fs';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { Environment } from '../../src/config/config.js';
import { openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import { type Answer, Client, COOKIE, type Service, startService, temporaryFolder } from '../support/service.js';
import { preloaded, projectModule } from '../support/faults/preloaded.js';
import { canLimitFileSize, limitFileSize } from '../support/faults/file-size-limit.js';
import { metricsOf } from '../support/metrics.js';
import { ServiceProcess } from '../support/service-process.js';

let folder: string;
let file: string;
let services: Service[];

beforeEach(() => {
  folder = temporaryFolder();
  file = join(folder, 'cookies.sqlite');
  services = [];
});

afterEach(() => Promise.all(services.map((service) => service.stop())));

/** Starts the service on `file` in this process. */
async function started(environment: Environment = {}): Promise<Service> {
  const service = await startService({ DATABASE_URL: `sqlite:${file}`, LOG_LEVEL: 'silent', ...environment });
  services.push(service);
  return service;
}

const makeDatabase = (): void => {
  using database = openDatabase(file);
  database.exec('CREATE TABLE things (name); CREATE INDEX by_name ON things (name)');
  const insert = database.prepare('INSERT INTO things VALUES (?)');
  for (let row = 0; row < 200; row++) insert.run('x'.repeat(200) + row);
};

const overwriteFrom = (position: number): void => {
  const descriptor = fs.openSync(file, 'r+');
  fs.writeSync(descriptor, Buffer.alloc(fs.statSync(file).size - position, 'garbage'), 0, undefined, position);
  fs.closeSync(descriptor);
};

describe('a database file that cannot be used stops the start', () => {
  const migrated = async (): Promise<void> => {
    await (await started()).app.close();
    services = [];
    overwriteFrom(4096);
  };

  it.each<[circumstance: string, prepare: () => unknown, fault: RegExp]>([
    [
      'it is not a database',
      () => fs.writeFileSync(file, 'This is a shopping list, not a database.\n'.repeat(200)),
      /is not a SQLite database/,
    ],
    [
      'there is garbage behind its header',
      () => {
        makeDatabase();
        overwriteFrom(100);
      },
      /is corrupt; restore it from a backup/,
    ],
    ['there is garbage behind its first page', migrated, /corrupt/i],
    ['it is a folder', () => fs.mkdirSync(file), /cannot be opened|is a folder/],
  ])('when %s', async (_circumstance, prepare, fault) => {
    await prepare();
    const message = expect.stringMatching(fault) as string;
    const start = started();
    await expect(start).rejects.toMatchObject({ name: 'DatabaseStartError', message });
    await expect(start).rejects.toMatchObject({ message: expect.stringContaining(file) as string });
  });

  it.each([
    ['is missing', 'cookies.sqlite', false],
    ['is empty', 'cookies.sqlite', true],
    ['is a link to a missing file', 'volume.sqlite', false],
    ['is a link to an empty file', 'volume.sqlite', true],
  ])('when it %s beside its WAL, which stays', async (_what, name, isEmpty) => {
    const target = join(folder, name);
    if (isEmpty) fs.writeFileSync(target, '');
    if (target !== file) fs.symlinkSync(name, file);
    fs.writeFileSync(`${target}-wal`, 'the last writes');
    await expect(started()).rejects.toThrow(`${file} is missing or empty, but ${target}-wal has its last writes`);
    expect(fs.readFileSync(`${target}-wal`, 'utf8')).toBe('the last writes');
  });

  it('when another connection has locked it for longer than DATABASE_BUSY_TIMEOUT', async () => {
    makeDatabase();
    using other = openDatabase(file);
    other.exec('BEGIN EXCLUSIVE');
    await expect(started({ DATABASE_BUSY_TIMEOUT: '300' })).rejects.toThrow('is locked by another process');
  });
});

describe('a database file that is taken away while the service runs', () => {
  const statusesOf = async (client: Client): Promise<number[]> => {
    const answers = [await client.post(COOKIE), await client.get('/cookies/1'), await client.get('/cookies')];
    return answers.map(({ status }) => status);
  };

  it.each([
    ['the file is removed', () => fs.rmSync(file)],
    ['the file is moved', () => fs.renameSync(file, join(folder, 'elsewhere.sqlite'))],
    ['its WAL is removed', () => fs.rmSync(`${file}-wal`)],
    ['the index of its WAL is removed', () => fs.rmSync(`${file}-shm`)],
    [
      'another file takes its place',
      () => {
        fs.copyFileSync(file, join(folder, 'copy.sqlite'));
        fs.renameSync(join(folder, 'copy.sqlite'), file);
      },
    ],
  ])('POST and GET are 503 when %s, and what was acknowledged before is in it', async (_what, takeAway) => {
    const service = await started();
    using errors = jest.spyOn(Logger.prototype, 'error');
    const client = Client.of(service);
    expect((await client.post(COOKIE)).status).toBe(201);
    const kept = join(folder, 'kept.sqlite');
    for (const end of ['', '-wal']) fs.linkSync(file + end, kept + end);
    takeAway();
    expect(await statusesOf(client)).toEqual([503, 503, 503]);
    expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(503);
    expect((await fetch(`${service.managementUrl}/health/live`)).status).toBe(200);
    const lost = 'was removed or replaced while the service ran; restart the service';
    expect(errors.mock.calls).toContainEqual([expect.stringContaining(lost)]);
    using database = openDatabase(kept, { readonly: true });
    expect(database.prepare('SELECT wish FROM cookies').pluck().all()).toContain(COOKIE.wish);
  });

  it.each([
    ['with', 503],
    ['without', undefined],
  ])('leaves no WAL that would damage the file in its place, %s a POST in between', async (_with, status) => {
    const other = await started();
    await Client.of(other).post({ ...COOKIE, wish: 'in the new file' });
    await other.stop();
    const replacement = join(folder, 'replacement.sqlite');
    fs.renameSync(file, replacement);

    const service = await started();
    const client = Client.of(service);
    for (let count = 0; count < 5; count++) await client.post({ ...COOKIE, wish: 'in the old file' });
    fs.linkSync(file, join(folder, 'old.sqlite'));
    fs.renameSync(replacement, file);
    if (status !== undefined) expect((await client.post(COOKIE)).status).toBe(status);
    await service.stop();

    const { body } = await Client.of(await started()).get('/cookies');
    expect(body).toEqual([{ id: 1, ...COOKIE, wish: 'in the new file' }]);
    const aside = fs.readdirSync(folder).filter((name) => name.startsWith('cookies.sqlite-wal-of-replaced-file-'));
    expect(aside).toHaveLength(1);
    fs.renameSync(join(folder, aside[0]!), join(folder, 'old.sqlite-wal'));
    using old = openDatabase(join(folder, 'old.sqlite'));
    expect(old.prepare("SELECT count(*) FROM cookies WHERE wish = 'in the old file'").pluck().get()).toBe(5);
  });

  it('POST and GET are 503 when its WAL is truncated, and nothing is written behind the lost frames', async () => {
    const service = await started();
    using errors = jest.spyOn(Logger.prototype, 'error');
    const client = Client.of(service);
    expect((await client.post(COOKIE)).status).toBe(201);
    fs.truncateSync(`${file}-wal`);
    expect(await statusesOf(client)).toEqual([503, 503, 503]);
    const lost = `${file}-wal was truncated while the service ran; restart the service`;
    expect(errors.mock.calls).toContainEqual([lost]);
    await service.stop();
    using database = openDatabase(file, { readonly: true });
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
  });
});

describe('a WAL that cannot be read before the COMMIT', () => {
  const UNREADABLE = preloaded(`
    import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    const { readSync } = fs;
    fs.readSync = (...values) => {
      if (fs.existsSync('unreadable')) throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' });
      return readSync(...values);
    };
    syncBuiltinESMExports();`);

  it('makes POST 503 with Retry-After and counts as an I/O error; the service goes on afterwards', async () => {
    await using service = await ServiceProcess.start(folder, UNREADABLE);
    const client = Client.of(service);
    expect((await client.post(COOKIE)).status).toBe(201);
    fs.writeFileSync(join(folder, 'unreadable'), '');
    const failed = await client.post({ ...COOKIE, wish: 'unreadable' });
    fs.rmSync(join(folder, 'unreadable'));
    expect([failed.status, failed.headers.get('retry-after')]).toEqual([503, '1']);
    expect((await client.post(COOKIE)).status).toBe(201);
    expect((await client.get('/cookies')).body).toHaveLength(2);
    expect((await metricsOf(service)).get('database_errors_total{kind="io"}')).toBeGreaterThan(0);
    await service.end();
    expect(service.output).not.toMatch(/EIO.*\\n +at /);
  });
});

describe('a COMMIT that fails because a disk quota is used up', () => {
  // As with a quota, SQLite reports an I/O error, and Node an error without a name.
  const WITHOUT_QUOTA = preloaded(`
    import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    import { SqliteConnection } from '${projectModule('dist/src/database/sqlite/sqlite-connection.js')}';
    const { execute } = SqliteConnection.prototype;
    const { writeFileSync } = fs;
    const isUsedUp = () => fs.existsSync('used-up');
    SqliteConnection.prototype.execute = function (sql, ...values) {
      if (sql !== 'COMMIT' || !isUsedUp()) return execute.call(this, sql, ...values);
      execute.call(this, 'ROLLBACK', []);
      throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_WRITE' });
    };
    fs.writeFileSync = (...values) => {
      if (isUsedUp()) throw Object.assign(new Error('UNKNOWN: unknown error, write'), { code: 'UNKNOWN', errno: -122 });
      return writeFileSync(...values);
    };
    syncBuiltinESMExports();`);

  it('makes POST 507 DISK_FULL, and stores nothing', async () => {
    await using service = await ServiceProcess.start(folder, WITHOUT_QUOTA);
    const client = Client.of(service);
    fs.writeFileSync(join(folder, 'used-up'), '');
    const { status, body } = await client.post(COOKIE);
    expect([status, body.errorCode]).toEqual([507, 'DISK_FULL']);
    const metrics = await metricsOf(service);
    expect(metrics.get('database_errors_total{kind="full"}')).toBeGreaterThan(0);
    // The alert for a damaged database counts these.
    expect(metrics.get('database_errors_total{kind="io"}')).toBe(0);
    expect((await client.get('/cookies')).body).toEqual([]);
  });
});

describe('a COMMIT that fails with an I/O error', () => {
  const where = canLimitFileSize ? it : it.skip;

  where('makes POST 503 OUTCOME_UNKNOWN without Retry-After, and the service goes on afterwards', async () => {
    await using service = await ServiceProcess.start(folder);
    const client = Client.of(service);
    expect((await client.post(COOKIE)).status).toBe(201);
    // A limit below the size of the WAL.
    limitFileSize(service, 4096);
    const failed = await client.post({ ...COOKIE, wish: 'in doubt' });
    const keyed = await client.post({ ...COOKIE, wish: 'repeated' }, { 'idempotency-key': 'in-doubt' });
    limitFileSize(service, 'unlimited');
    const shown = ({ status, body, headers }: Answer) => [status, body.errorCode, headers.get('retry-after')];
    expect(shown(failed)).toEqual([503, 'OUTCOME_UNKNOWN', null]);
    expect(shown(keyed)).toEqual([503, 'OUTCOME_UNKNOWN', '1']);
    for (let time = 0; time < 2; time++) {
      const repeated = await client.post({ ...COOKIE, wish: 'repeated' }, { 'idempotency-key': 'in-doubt' });
      expect(repeated.status).toBe(201);
    }
    expect((await client.post(COOKIE)).status).toBe(201);
    await service.end();
    expect(service.output).toMatch(
      new RegExp(`The outcome of a change is unknown: .*request ${failed.body.requestId}, POST /cookies`),
    );
    using database = openDatabase(file, { readonly: true });
    const count = database.prepare('SELECT count(*) FROM cookies WHERE wish = ?').pluck();
    expect(count.get('in doubt')).toBeLessThan(2);
    expect(count.get('repeated')).toBe(1);
  });
});
