import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { TableCheck } from 'typeorm';
import { SIZES } from '../../src/cookies/cookie.values.js';
import type { Database } from '../../src/database/sqlite/better-sqlite3.js';
import { isOneOf } from '../../src/resource/resource-entity.js';
import { HOSTILE_CHANGES, makeHostile } from './hostile-changes.js';
import {
  countsOf,
  folderWith,
  inDatabase,
  lines,
  type Outcome,
  outcomeOf,
  run,
  type RunOptions,
  startCommand,
} from '../support/command.js';
import { openDataSource } from '../support/data-source.js';
import { SmallVolume } from '../support/faults/small-volume.js';
import { type Answer, Client, COOKIE, startService, temporaryFolder } from '../support/service.js';
import { until } from '../support/until.js';
import { endedWith, expectEnd } from './ended-with.js';

const startOn = (folder: string) => startService({ DATABASE_URL: `sqlite:${join(folder, 'cookies.sqlite')}` });

/** The last eight bytes of gzip are checksum and length. */
function withWrongChecksum(bytes: Buffer): Buffer {
  const packed = gzipSync(bytes);
  packed[packed.length - 8]! ^= 1;
  return packed;
}

describe('cli backup and restore', () => {
  let folder: string;

  /** Makes a storage with 300 cookies and a backup of it. */
  beforeEach(async () => {
    folder = await folderWith(lines(300), ['backup', 'backup.sqlite']);
  });

  const EPOCH = "SELECT epoch FROM storage WHERE resource = 'cookies'";
  const epoch = () => inDatabase(folder, (database) => database.prepare(EPOCH).pluck().get());
  const database = () => fs.readFileSync(join(folder, 'cookies.sqlite'));
  const tamper = (change: (database: Database) => void) => inDatabase(folder, change, 'backup.sqlite');

  const state = (where = folder) =>
    fs
      .readdirSync(where)
      .map((name) => [name, fs.statSync(join(where, name)).size, fs.statSync(join(where, name)).mtimeMs]);

  /** Runs `restore --verify`. It must leave the temporary folder empty, and the folder of the backup as it was. */
  async function verify(file: string, options: RunOptions = {}): Promise<Outcome> {
    const [temporary, before] = [temporaryFolder(), state()];
    const environment = { TMPDIR: temporary, ...options.environment };
    const outcome = await run(folder, ['restore', '--verify', file], { ...options, environment });
    expect([state(), fs.readdirSync(temporary)]).toEqual([before, []]);
    return outcome;
  }

  /** Restores a backup, and expects its 300 cookies. */
  async function restore(file = 'backup.sqlite', ...options: string[]): Promise<Outcome> {
    const outcome = await run(folder, ['restore', file, ...options]);
    expect(outcome).toMatchObject({ code: 0 });
    expect(countsOf(folder)).toEqual({ count: 300, used: 300 });
    return outcome;
  }

  const left = (pattern: RegExp): string[] => fs.readdirSync(folder).filter((name) => pattern.test(name));

  const expectRejectedByVerify = async (file: string, fault: RegExp): Promise<void> =>
    expect(await verify(file)).toEqual({ stdout: '', ...endedWith(1, fault) });

  it('copies one state into one valid file while clients write', async () => {
    folder = await folderWith(lines(3000));
    await using service = await startOn(folder);
    const client = Client.of(service);
    let over = false;
    let posted = 0;
    const writing = (async () => {
      for (; !over; posted++) expect((await client.post(COOKIE)).status).toBe(201);
    })();
    const { code, stderr } = await run(folder, ['backup', 'new.sqlite']);
    over = true;
    await writing;
    expect({ code, stderr }).toMatchObject(endedWith(0, 'and checked it'));
    expect(posted).toBeGreaterThan(0);
    expect(left(/^new/)).toEqual(['new.sqlite']);
    const read = (pragma: string) => inDatabase(folder, (copy) => copy.pragma(pragma, { simple: true }), 'new.sqlite');
    expect([read('journal_mode'), read('integrity_check')]).toEqual(['delete', 'ok']);
    const { used, count } = countsOf(folder, 'new.sqlite');
    expect(used).toBe(count);
    expect(count).toBeGreaterThanOrEqual(3000);
    expect(count).toBeLessThanOrEqual(3000 + posted);
  });

  it('does not replace a backup by a failed one, or the database', async () => {
    expect(await run(folder, ['backup', 'cookies.sqlite'])).toMatchObject({ code: 2 });
    expect(await run(folder, ['backup', 'nowhere/backup.sqlite'])).toMatchObject({ code: 1 });
    const before = fs.readFileSync(join(folder, 'backup.sqlite'));
    inDatabase(folder, (broken) => broken.exec("UPDATE storage SET used = used + 1 WHERE resource = 'cookies'"));
    await expectEnd(run(folder, ['backup', 'backup.sqlite']), 1, 'counts 301 cookies and holds');
    expect(fs.readFileSync(join(folder, 'backup.sqlite')).equals(before)).toBe(true);
    expect(left(/partial/)).toEqual([]);
  });

  it('restores what was backed up, under a new epoch, and keeps the old database', async () => {
    const before = epoch();
    await run(folder, ['import', 'cookies'], { input: lines(5, 301) });
    const { code, stderr } = await run(folder, ['restore', 'backup.sqlite']);
    expect({ code, stderr }).toMatchObject(endedWith(0, 'Restored 300 cookies'));
    // Checked before a connection opens the database, which would remove these files.
    expect(left(/-(wal|shm)$/)).toEqual([]);
    expect(countsOf(folder)).toEqual({ count: 300, used: 300 });
    expect(epoch()).not.toBe(before);
    const aside = /is now (\S+);/.exec(stderr)![1]!;
    expect(countsOf(folder, basename(aside))).toEqual({ count: 305, used: 305 });
    await using service = await startOn(folder);
    expect((await Client.of(service).post(COOKIE)).body.id).toBe(301);
  });

  it('keeps idempotency keys: a POST that is repeated after a restore returns its first response', async () => {
    const post = async (): Promise<Answer> => {
      await using service = await startOn(folder);
      return await Client.of(service).post(COOKIE, { 'idempotency-key': 'before-the-backup' });
    };
    const first = await post();
    await run(folder, ['backup', 'backup.sqlite']);
    expect(await run(folder, ['restore', 'backup.sqlite'])).toMatchObject({ code: 0 });
    const repeated = await post();
    expect([repeated.status, repeated.text]).toEqual([201, first.text]);
    expect(repeated.headers.get('idempotency-replayed')).toBe('true');
    expect(countsOf(folder)).toEqual({ count: 301, used: 301 });
  });

  it('drops leases and counts of rate limits, which in a forged backup might never expire', async () => {
    await run(folder, ['backup', 'backup.sqlite']);
    const forever = Number.MAX_SAFE_INTEGER;
    const madeUp = (database: Database) =>
      database.exec(`INSERT INTO leases (name, holder, expires) VALUES ('purge', 'nobody', ${forever});
                     INSERT INTO rate_limits (key, requests, ends_at) VALUES ('alice', 1000000, ${forever})`);
    inDatabase(folder, madeUp, 'backup.sqlite');
    await restore();
    const rows = 'SELECT name FROM leases UNION ALL SELECT key FROM rate_limits';
    expect(inDatabase(folder, (database) => database.prepare(rows).all())).toEqual([]);
  });

  (SmallVolume.mountable ? it : it.skip)('names a read-only volume to which it cannot restore', async () => {
    using volume = new SmallVolume();
    fs.cpSync(join(folder, 'cookies.sqlite'), join(volume.folder, 'cookies.sqlite'));
    execFileSync('mount', ['-o', 'remount,ro', volume.folder]);
    const outcome = run(volume.folder, ['restore', join(folder, 'backup.sqlite')]);
    await expectEnd(outcome, 1, /: it is on a read-only volume .* The storage is as it was/);
  });

  it('rejects a restore while a service has the database open, before it checks the backup', async () => {
    const service = await startOn(folder);
    fs.writeFileSync(join(folder, 'damaged.sqlite'), 'no database');
    for (const backup of ['backup.sqlite', 'damaged.sqlite']) {
      await expectEnd(run(folder, ['restore', backup]), 1, /is in use\. Stop the service/);
    }
    expect((await Client.of(service).post(COOKIE)).status).toBe(201);
    await service.stop();
    expect(countsOf(folder)).toEqual({ count: 301, used: 301 });
    expect(left(/restoring|before/)).toEqual([]);
  });

  it('rejects a restore while a service has the database open that has started since the restore began', async () => {
    const restoring = startCommand(folder, ['restore', '-']);
    const outcome = outcomeOf(restoring);
    const hasDraft = (name: string): boolean => fs.existsSync(join(folder, name, 'draft.sqlite'));
    await until(() => left(/restoring/).some(hasDraft), 'a draft of the backup');
    await using service = await startOn(folder);
    restoring.stdin!.end(fs.readFileSync(join(folder, 'backup.sqlite')));
    await expectEnd(outcome, 1, /is in use\. Stop the service/);
    expect((await Client.of(service).post(COOKIE)).status).toBe(201);
  });

  const bySql = (sql: string) => () => tamper((db) => db.exec(sql));

  const ofNewFile = (sql: string) => () => {
    fs.rmSync(join(folder, 'backup.sqlite'));
    bySql(sql)();
  };

  function damagePage(): void {
    const file = fs.openSync(join(folder, 'backup.sqlite'), 'r+');
    fs.writeSync(file, Buffer.alloc(3000, 0x5a), 0, 3000, 20 * 4096);
    fs.closeSync(file);
  }

  const LATER = `INSERT INTO migrations (timestamp, name) VALUES (9e12, 'Later9000000000000')`;

  it.each<[string, () => void, RegExp]>([
    [
      'no SQLite database',
      () => fs.writeFileSync(join(folder, 'backup.sqlite'), 'x'.repeat(9999)),
      /not a SQLite database/,
    ],
    ['a database of another kind', ofNewFile('CREATE TABLE t (id)'), /./],
    ['a damaged page', damagePage, /corrupt|malformed|invalid|btree|out of order|page/i],
    ['a newer schema', bySql(LATER), /migrations Later9000000000000 of a newer version/],
    ['a wrong counter', bySql('UPDATE storage SET used = 301'), /counts 301 .* holds 300/],
    ['no counter', bySql("DELETE FROM storage WHERE resource = 'cookies'"), /no row for cookies/],
    ['no cookies', bySql('DROP TABLE cookies'), /no table cookies/],
    [
      'a sequence behind the records',
      bySql('UPDATE sqlite_sequence SET seq = 1'),
      /next id of cookies would repeat an old one/,
    ],
    [
      'a migration forgotten',
      bySql("DELETE FROM migrations WHERE name LIKE 'CreateLiveSettings%'"),
      /has the table live_settings/,
    ],
    [
      'text in UTF-16',
      ofNewFile(`PRAGMA encoding = 'UTF-16'; CREATE TABLE t (id)`),
      /in UTF-16le, and must be in UTF-8/,
    ],
  ])('rejects a restore of %s, and leaves the storage as it was', async (_what, damage, fault) => {
    damage();
    const before = database();
    await expectRejectedByVerify('backup.sqlite', fault);
    const restored = await run(folder, ['restore', 'backup.sqlite']);
    expect(restored).toMatchObject(endedWith(1, fault));
    expect(restored.stderr).toContain('The storage is as it was');
    expect(database().equals(before)).toBe(true);
    expect(left(/restoring|before/)).toEqual([]);
  });

  const DROPPED = "a trigger that deletes records, with a name of the service's";

  it('restores a backup of a database whose migrations were reverted and have run again', async () => {
    const dataSource = await openDataSource({}, undefined, folder);
    const runner = dataSource.createQueryRunner();
    // Each step rebuilds the table with more parentheses in its checks. A new constraint becomes the last one.
    await runner.dropCheckConstraint('cookies', 'cookies_size');
    await runner.createCheckConstraint(
      'cookies',
      new TableCheck({ name: 'cookies_size', expression: isOneOf('size', SIZES) }),
    );
    await runner.release();
    await dataSource.destroy();
    expect((await run(folder, ['doctor', '--fix'])).code).toBe(0);
    await expectEnd(run(folder, ['backup', 'later.sqlite']), 0, /^Backed up 300 cookies/);
    await restore('later.sqlite');
  });

  it('makes a backup of a database with an additional index, and warns that a restore will reject it', async () => {
    inDatabase(folder, (database) => database.exec('CREATE INDEX of_a_report ON cookies (wish)'));
    const rejects = 'restore will reject this backup: it has the index of_a_report.';
    await expectEnd(run(folder, ['backup', 'later.sqlite']), 0, rejects);
    expect(left(/fresh|partial/)).toEqual([]);
    await expectRejectedByVerify('later.sqlite', /it has the index of_a_report/);
  });

  it('restores a backup with a type of a column that the migrations of an earlier version gave', async () => {
    tamper((backup) => {
      backup.unsafeMode().pragma('writable_schema = ON');
      backup.exec(`UPDATE sqlite_schema SET sql = replace(sql, '"claim" varchar', '"claim" uuid')`);
      const tables = backup.prepare(`SELECT count(*) FROM sqlite_schema WHERE sql LIKE '%"claim" uuid%'`);
      expect(tables.pluck().get()).toBe(1);
    });
    await restore();
  });

  it('restores a copy that Litestream has made, without the tables of Litestream', async () => {
    tamper((backup) =>
      backup.exec('CREATE TABLE _litestream_seq (seq INTEGER); CREATE TABLE _litestream_lock (id INTEGER); ANALYZE'),
    );
    expect(await verify('backup.sqlite')).toMatchObject({ code: 0 });
    await restore();
    const tables = inDatabase(folder, (one) => one.prepare('SELECT name FROM sqlite_schema').pluck().all());
    expect(tables).toEqual(expect.not.arrayContaining([expect.stringContaining('litestream')]));
  });

  it("restores all records of a backup with a trigger that has a name of the service's triggers, and drops it", async () => {
    tamper((copy) => makeHostile(copy, DROPPED));
    await restore('backup.sqlite', '--skip-record-check');
    const deleting = `SELECT name FROM sqlite_schema WHERE sql LIKE '%DELETE FROM%'`;
    expect(inDatabase(folder, (database) => database.prepare(deleting).all())).toEqual([]);
  });

  const HARMLESS = ['a number of replaced records that is made up', 'a revocation with numbers of 64 bits'];

  it.each(HARMLESS)('restores a backup with %s, and the service stores and counts one more record', async (name) => {
    tamper((copy) => makeHostile(copy, name));
    await restore('backup.sqlite', '--skip-record-check');
    await using service = await startOn(folder);
    const { status } = await Client.of(service).post(COOKIE);
    expect({ status, ...countsOf(folder) }).toEqual({ status: 201, count: 301, used: 301 });
  });

  /** Changes that other tests cover. */
  const NOT_REJECTED = [DROPPED, ...HARMLESS];

  it.each(Object.keys(HOSTILE_CHANGES).filter((name) => !NOT_REJECTED.includes(name)))(
    'rejects a backup with %s',
    async (name) => {
      tamper((copy) => makeHostile(copy, name));
      await expectRejectedByVerify('backup.sqlite', /backup\.sqlite/);
    },
  );

  it('prints control characters in the names of a backup as escapes', async () => {
    tamper((copy) => copy.exec('CREATE TABLE "\u001b]0;title\u0007\u009b2J" (id integer)'));
    await expectRejectedByVerify('backup.sqlite', /table \\x1B\]0;title\\x07\\x9B2J/);
  });

  it('verifies a backup while the service serves, and changes nothing, also one from a pipe', async () => {
    await using service = await startOn(folder);
    const good = endedWith(0, 'can be restored: it holds 300 cookies. Nothing was changed');
    expect(await verify('backup.sqlite')).toMatchObject(good);
    expect(await verify('/dev/stdin', { input: fs.readFileSync(join(folder, 'backup.sqlite')) })).toMatchObject(good);
    expect((await Client.of(service).post(COOKIE)).status).toBe(201);
    await expectEnd(verify('cookies.sqlite'), 2, 'the database itself');
  });

  it('packs a backup whose name ends with .gz, and restores it from a file or a pipe', async () => {
    const made = await run(folder, ['backup', 'packed.gz']);
    const packed = fs.readFileSync(join(folder, 'packed.gz'));
    expect(made).toMatchObject(endedWith(0, `(${packed.length} bytes)`));
    expect(gunzipSync(packed).equals(fs.readFileSync(join(folder, 'backup.sqlite')))).toBe(true);
    expect(fs.statSync(join(folder, 'packed.gz')).mode & 0o777).toBe(0o600);
    expect(await verify('packed.gz')).toMatchObject({ code: 0 });
    expect(await verify('/dev/stdin', { input: packed })).toMatchObject({ code: 0 });
    await run(folder, ['import', 'cookies'], { input: lines(5, 301) });
    await restore('packed.gz');
    expect(left(/partial|restoring/)).toEqual([]);
  });

  it.each<[string, (backup: Buffer) => Buffer, RegExp]>([
    ['ends too early', (backup) => gzipSync(backup).subarray(0, -20), /unexpected end of file/],
    ['has a wrong checksum', withWrongChecksum, /incorrect data check/],
    ['holds no database', () => gzipSync(Buffer.alloc(2 ** 25)), /is not a SQLite database/],
    [
      'holds many times what its header says',
      (backup) => gzipSync(Buffer.concat([backup, Buffer.alloc(2 ** 25)])),
      /is longer than its header says \(\d+ bytes\)/,
    ],
    [
      'says that it is larger than the volume',
      (backup) => gzipSync(Buffer.concat([backup.subarray(0, 28), Buffer.alloc(4, 0xff), backup.subarray(32)])),
      /holds \d+ bytes, but only \d+ are free/,
    ],
  ])('rejects a packed backup that %s, and leaves no file of it', async (_, bytes, reason) => {
    fs.writeFileSync(join(folder, 'hostile.gz'), bytes(fs.readFileSync(join(folder, 'backup.sqlite'))));
    const before = database();
    const names = fs.readdirSync(folder);
    await expectRejectedByVerify('hostile.gz', reason);
    expect(await run(folder, ['restore', 'hostile.gz'])).toEqual({ stdout: '', ...endedWith(1, reason) });
    expect(database().equals(before)).toBe(true);
    expect(fs.readdirSync(folder)).toEqual(names);
  });

  (SmallVolume.mountable ? it : it.skip)(
    'backup and restore name a full volume, and restore begins no copy that does not fit',
    async () => {
      using volume = new SmallVolume();
      volume.occupy(300_000);
      const environment = { DATABASE_URL: `sqlite:${join(volume.folder, 'new.sqlite')}` };
      const full = endedWith(1, new RegExp(`\\(\\d{1,5} bytes are free on the volume of ${volume.folder}\\)`));
      expect(await run(folder, ['backup', join(volume.folder, 'new.backup')])).toMatchObject(full);
      expect(await run(folder, ['restore', 'backup.sqlite'], { environment })).toMatchObject(full);
      expect(fs.readdirSync(volume.folder)).toEqual(['ballast']);
      volume.occupy();
      const large = endedWith(1, /backup.sqlite holds \d+ bytes, but only \d+ are free on the volume of/);
      expect(await run(folder, ['restore', 'backup.sqlite'], { environment })).toMatchObject(large);
    },
  );

  it('verifies a backup in WAL mode with records that are only in its WAL, and leaves no file beside it', async () => {
    fs.mkdirSync(join(folder, 'copied'));
    tamper((copy) => {
      copy.pragma('journal_mode = WAL');
      copy.exec(`INSERT INTO cookies (flavor, size, wish) VALUES ('vanilla', 'small', 'new')`);
      for (const end of ['', '-wal']) fs.cpSync(join(folder, `backup.sqlite${end}`), join(folder, `copied/b${end}`));
    });
    const before = state(join(folder, 'copied'));
    await expectEnd(verify('copied/b'), 0, 'holds 301 cookies');
    expect(state(join(folder, 'copied'))).toEqual(before);
  });

  it('names the temporary folder that has no space for the check', async () => {
    const environment = { TMPDIR: join(folder, 'nowhere') };
    const outcome = run(folder, ['restore', '--verify', 'backup.sqlite'], { environment });
    await expectEnd(outcome, 1, /nowhere.*TMPDIR names another folder/);
  });

  it('leaves the records unchecked with --skip-record-check, and reports it', async () => {
    tamper((copy) => makeHostile(copy, 'an empty wish'));
    const outcome = run(folder, ['restore', 'backup.sqlite', '--skip-record-check']);
    await expectEnd(outcome, 0, 'The records were not checked');
  });

  it('replaces a database that is too damaged to open, and gives the new database no WAL of the old one', async () => {
    const broken = 'broken'.repeat(2000);
    for (const suffix of ['', '-wal']) fs.writeFileSync(join(folder, `cookies.sqlite${suffix}`), broken);
    expect(await run(folder, ['restore', 'backup.sqlite'])).toMatchObject({ code: 0 });
    // Checked before SQLite opens the database, because it would use a WAL of that name.
    expect(left(/^cookies\.sqlite-wal$/)).toEqual([]);
    const asides = left(/\.before-/).map((name) => fs.readFileSync(join(folder, name), 'utf8'));
    expect(asides.map((text) => text === broken)).toEqual([true]);
    expect(countsOf(folder)).toEqual({ count: 300, used: 300 });
  });

  it('gives the restored database no WAL or journal of a database that was removed', async () => {
    fs.rmSync(join(folder, 'cookies.sqlite'));
    for (const suffix of ['-journal', '-wal', '-shm']) fs.writeFileSync(join(folder, `cookies.sqlite${suffix}`), 'old');
    expect(await run(folder, ['restore', 'backup.sqlite'])).toMatchObject({ code: 0 });
    expect(left(/^cookies\.sqlite-(journal|wal|shm)$/)).toEqual([]);
    expect(countsOf(folder)).toEqual({ count: 300, used: 300 });
  });

  it('restores beside another restore, or reports it', async () => {
    const outcomes = await Promise.all(Array.from({ length: 3 }, () => run(folder, ['restore', 'backup.sqlite'])));
    const wrong = outcomes.filter(({ code, stderr }) => code !== 0 && !stderr.includes('is in use'));
    expect([wrong, countsOf(folder)]).toEqual([[], { count: 300, used: 300 }]);
    expect(left(/restoring/)).toEqual([]);
  });
});
