import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SqliteConnection } from '../../src/database/sqlite/sqlite-connection.js';
import { DatabaseFile } from '../../src/database/sqlite/file/database-file.js';
import { Snapshots } from '../../src/database/sqlite/reading/snapshots.js';
import { DiskReserve } from '../../src/database/sqlite/writing/disk-reserve.js';
import { Writer } from '../../src/database/sqlite/writing/writer.js';
import { countsOf, inDatabase, lines, run } from '../support/command.js';
import { Client, COOKIE, environmentIn, startService, temporaryFolder } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';

const ROOT = join(import.meta.dirname, '../..');

let folder: string;
let DATABASE_URL: string;

beforeEach(() => {
  folder = temporaryFolder();
  DATABASE_URL = `sqlite:${join(folder, 'cookies.sqlite')}`;
});

const at = (...names: string[]): string => join(folder, ...names);

describe('a counter that differs from the number of records', () => {
  const drift = () =>
    inDatabase(folder, (database) => database.exec("UPDATE storage SET used = used + 7 WHERE resource = 'cookies'"));

  it('is reported by backup and corrected by doctor --fix beside the service', async () => {
    const environment = { COOKIES_CAPACITY: '100000' };
    await run(folder, ['import', 'cookies'], { input: lines(25_001), environment });
    drift();
    await using service = await startService({ DATABASE_URL, ...environment });
    const client = Client.of(service);
    expect((await client.post(COOKIE)).status).toBe(201);
    const { code, stderr } = await run(folder, ['backup', 'copy']);
    const wrong = /wrong counter: it counts 25009 cookies and holds 25002.*doctor --fix/;
    expect([code, stderr]).toEqual([1, expect.stringMatching(wrong)]);
    const fixed = await run(folder, ['doctor', '--fix'], { environment });
    const again = /^FIX {3}counter +counted again: there are 25002/m;
    expect([fixed.code, fixed.stdout]).toEqual([0, expect.stringMatching(again)]);
    expect(countsOf(folder)).toEqual({ count: 25_002, used: 25_002 });
    expect((await client.get('/cookies?limit=1')).headers.get('x-total-count')).toBe('25002');
    expect((await run(folder, ['doctor', '--fix'], { environment })).stdout).not.toContain('FIX');
  });
});

describe('a database file that can be opened and locked, but not written', () => {
  // Writes fail, as on a broken volume or beyond a quota.
  const WITHOUT_WRITES = ['sh', '-c', `trap '' XFSZ; exec prlimit --fsize=0 "$@"`, 'sh'];

  it('stops the start, and doctor reports it', async () => {
    // The other process has already made the WAL and its index.
    await using other = await startService({ DATABASE_URL });
    expect((await Client.of(other).post(COOKIE)).status).toBe(201);
    const service = ServiceProcess.spawn(folder, {}, { through: WITHOUT_WRITES });
    expect(await service.exit()).toBe(1);
    expect(service.output).toMatch(/The database file .* cannot be written \(SQLITE_IOERR/);
    expect((await run(folder, ['doctor'])).stdout).toMatch(/^ok {4}real write +.* can be written$/m);
    expect((await Client.of(other).post(COOKIE)).status).toBe(201);
  });
});

describe('an I/O error of the writing connection', () => {
  /** Fails the next statement that contains `failNext`, once. */
  class FailingConnection extends SqliteConnection {
    failNext?: string;

    override run(sql: string, parameters: readonly unknown[] = []) {
      if (this.failNext === undefined || !sql.includes(this.failNext)) return super.run(sql, parameters);
      this.failNext = undefined;
      throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR' });
    }
  }

  let connection: FailingConnection;
  let writer: Writer;

  beforeEach(() => {
    connection = new FailingConnection(at('db'), { readonly: false });
    connection.database.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (id INTEGER PRIMARY KEY)');
    const limits = { busyTimeout: 1000, transactionTimeout: 100 };
    const file = new DatabaseFile(at('db'));
    const reserve = new DiskReserve(file, connection, new Snapshots(at('db'), 1000));
    writer = new Writer(connection, reserve, file, limits);
  });

  afterEach(async () => {
    await writer.close();
    connection.database.close();
  });

  const insert = (id: number) => writer.run(`INSERT INTO t VALUES (${id})`, [], false);
  const stored = () => connection.run('SELECT id FROM t ORDER BY id').rows?.map(({ id }) => id);

  it('in the ROLLBACK of a transaction that lasts too long ends neither the process nor the writes after it', async () => {
    const transaction = await writer.begin(false);
    transaction.run('INSERT INTO t VALUES (1)');
    connection.failNext = 'ROLLBACK';
    await sleep(200);
    expect(() => transaction.run('INSERT INTO t VALUES (2)')).toThrow(/took longer than 100 ms/);
    await insert(3);
    expect(stored()).toEqual([3]);
  });

  it('in the ROLLBACK of one job undoes and rejects its whole batch, which is not committed later', async () => {
    const first = await writer.begin(false);
    first.run('INSERT INTO t VALUES (1)');
    const joined = writer.begin(false);
    const committed = first.commit();
    committed.catch(() => {});
    const second = await joined;
    second.run('INSERT INTO t VALUES (2)');
    connection.failNext = 'ROLLBACK TO group_commit_job';
    await expect(committed).rejects.toThrow(/disk I\/O error|cannot be used/);
    await insert(3);
    expect(stored()).toEqual([3]);
  });

  it('before a job joins a batch rejects that job alone, and does not end the process', async () => {
    await insert(1);
    connection.failNext = 'sqlite_schema';
    const results = await Promise.allSettled([2, 3, 4].map(insert));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(stored()).toEqual([1, 2, 4]);
  });
});

describe('the built service', () => {
  const start = (program: string, ...args: string[]) => {
    const env = { PATH: process.env['PATH'], ...environmentIn(folder, { NODE_ENV: 'production', LOG_LEVEL: 'info' }) };
    return spawnSync(process.execPath, [program, ...args], { cwd: folder, env, encoding: 'utf8', timeout: 20_000 });
  };

  it('migrates in production, in a folder whose name is special in a URL, and names commands that work without npm', () => {
    cpSync(join(ROOT, 'dist'), at('a#b%20c?d/dist'), { recursive: true });
    cpSync(join(ROOT, 'package.json'), at('a#b%20c?d/package.json'));
    symlinkSync(join(ROOT, 'node_modules'), at('a#b%20c?d/node_modules'));
    const cli = (...args: string[]) => start(at('a#b%20c?d/dist/src/cli/main.js'), ...args);
    const { status, stdout, stderr } = cli('migrate', '--check-capacity');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    // The log on stdout has one line of JSON for each message.
    const messages = stdout
      .trim()
      .split('\n')
      .map((text) => (JSON.parse(text) as { msg: string }).msg);
    expect(messages.at(-1)).toMatch(/^Ran the migrations CreateCookiesAndStorage\d+(, \w+\d+)+$/);
    expect(cli('migrate').stdout).toContain('No migration is pending');
    inDatabase(folder, (database) => database.exec("UPDATE storage SET used = 10001 WHERE resource = 'cookies'"));
    expect(cli('migrate', '--check-capacity')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/COOKIES_CAPACITY is 10000, and 10001 cookies are stored/),
    });
    expect(cli('migrate')).toMatchObject({ status: 0 });
    expect(cli('doctor', '--help').stdout).toMatch(/^ {2}cli doctor --fix$/m);
    const compose = readFileSync(join(ROOT, 'compose.cluster.yaml'), 'utf8');
    expect(compose).toContain('command: [cli, migrate]');
  });
});
