import {
  closeSync,
  cpSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Database, openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import { HOSTILE_CHANGES } from '../faults/hostile-backups.js';
import { countsOf, inDatabase, lines, run } from '../support/command.js';
import { Client, COOKIE, temporaryFolder } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';

describe('cli backup and restore', () => {
  /** What each test begins with: a storage of 3000 cookies. */
  let stored: string;
  let folder: string;

  beforeAll(async () => {
    stored = temporaryFolder();
    expect(await run(stored, ['import', 'cookies'], { input: lines(3000) })).toMatchObject({ code: 0 });
  });

  beforeEach(() => {
    folder = temporaryFolder();
    cpSync(stored, folder, { recursive: true });
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  afterAll(() => rmSync(stored, { recursive: true, force: true }));

  const epoch = () =>
    inDatabase(folder, (database) =>
      database.prepare("SELECT epoch FROM storage WHERE resource = 'cookies'").pluck().get(),
    );
  const database = () => readFileSync(join(folder, 'cookies.sqlite'));
  const tamper = (change: (database: Database) => void) => inDatabase(folder, change, 'backup.sqlite');

  it('copies one state into one sound file while the service is written to', async () => {
    const service = await ServiceProcess.start(folder);
    try {
      const client = await Client.of(service);
      let over = false;
      let posted = 0;
      const writing = (async () => {
        for (; !over; posted++) expect((await client.post(COOKIE)).status).toBe(201);
      })();
      const { code, stderr } = await run(folder, ['backup', 'backup.sqlite']);
      over = true;
      await writing;
      expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('and checked it') });
      expect(posted).toBeGreaterThan(0);
      expect(readdirSync(folder).filter((name) => name.startsWith('backup'))).toEqual(['backup.sqlite']);
      tamper((copy) => {
        expect(copy.pragma('journal_mode', { simple: true })).toBe('delete');
        expect(copy.pragma('integrity_check', { simple: true })).toBe('ok');
        const { used, count } = copy
          .prepare("SELECT used, (SELECT count(*) FROM cookies) AS count FROM storage WHERE resource = 'cookies'")
          .get() as Record<string, number>;
        expect(used).toBe(count);
        expect(count).toBeGreaterThanOrEqual(3000);
        expect(count).toBeLessThanOrEqual(3000 + posted);
      });
    } finally {
      await service.end();
    }
  });

  it('replaces no backup by a failed one, and not the database', async () => {
    expect(await run(folder, ['backup', 'cookies.sqlite'])).toMatchObject({ code: 2 });
    expect(await run(folder, ['backup', 'nowhere/backup.sqlite'])).toMatchObject({ code: 1 });
    await run(folder, ['backup', 'backup.sqlite']);
    const before = readFileSync(join(folder, 'backup.sqlite'));
    inDatabase(folder, (broken) => broken.exec("UPDATE storage SET used = used + 1 WHERE resource = 'cookies'"));
    const { code, stderr } = await run(folder, ['backup', 'backup.sqlite']);
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('counts 3001 cookies and holds'),
    });
    expect(readFileSync(join(folder, 'backup.sqlite')).equals(before)).toBe(true);
    expect(readdirSync(folder).filter((name) => name.includes('partial'))).toEqual([]);
  });

  it('restores what was backed up, under a new epoch, and keeps what was there', async () => {
    const before = epoch();
    await run(folder, ['backup', 'backup.sqlite']);
    await run(folder, ['import', 'cookies'], { input: lines(5, 3001) });
    const { code, stderr } = await run(folder, ['restore', 'backup.sqlite']);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('Restored 3000 cookies') });
    // Before anything opens the database, which would tidy up.
    expect(readdirSync(folder).filter((name) => /-(wal|shm)$/.test(name))).toEqual([]);
    expect(countsOf(folder)).toEqual({ count: 3000, used: 3000 });
    expect(epoch()).not.toBe(before);
    const aside = /is now (\S+);/.exec(stderr)![1]!;
    const kept = openDatabase(aside, { readonly: true });
    expect(kept.prepare('SELECT count(*) FROM cookies').pluck().get()).toBe(3005);
    kept.close();
    const service = await ServiceProcess.start(folder);
    expect((await (await Client.of(service)).post(COOKIE)).body.id).toBe(3001);
    await service.end();
  });

  it('rejects a restore while a service has the database open', async () => {
    await run(folder, ['backup', 'backup.sqlite']);
    const service = await ServiceProcess.start(folder);
    try {
      const { code, stderr } = await run(folder, ['restore', 'backup.sqlite']);
      expect({ code, stderr }).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/is in use\. Stop the service/),
      });
      expect((await (await Client.of(service)).post(COOKIE)).status).toBe(201);
    } finally {
      await service.end();
    }
    expect(countsOf(folder)).toEqual({ count: 3001, used: 3001 });
    expect(readdirSync(folder).filter((name) => /restoring|before/.test(name))).toEqual([]);
  });

  it.each<[string, () => void, RegExp]>([
    [
      'no SQLite database',
      () => writeFileSync(join(folder, 'backup.sqlite'), 'no database'.repeat(1000)),
      /not a SQLite database/,
    ],
    [
      'a database of another kind',
      () => inDatabase(folder, (db) => db.exec('CREATE TABLE t (id)'), 'other.sqlite'),
      /./,
    ],
    [
      'a damaged page',
      () => {
        const file = openSync(join(folder, 'backup.sqlite'), 'r+');
        writeSync(file, Buffer.alloc(3000, 0x5a), 0, 3000, 20 * 4096);
        closeSync(file);
      },
      /corrupt|malformed|invalid|btree|out of order|page/i,
    ],
    [
      'a newer schema',
      () => tamper((db) => db.exec(`INSERT INTO migrations (timestamp, name) VALUES (9e12, 'Later9000000000000')`)),
      /migrations Later9000000000000 of a newer version/,
    ],
    ['a wrong counter', () => tamper((db) => db.exec('UPDATE storage SET used = 3001')), /counts 3001 .* holds 3000/],
    [
      'no counter',
      () => tamper((db) => db.exec("DELETE FROM storage WHERE resource = 'cookies'")),
      /no row for cookies/,
    ],
    ['no cookies', () => tamper((db) => db.exec('DROP TABLE cookies')), /no table cookies/],
    [
      'ids that would be given again',
      () => tamper((db) => db.exec(`UPDATE sqlite_sequence SET seq = 5 WHERE name = 'cookies'`)),
      /given already \(3000 was\)/,
    ],
  ])('refuses to restore %s, and leaves the storage as it was', async (what, damage, fault) => {
    await run(folder, ['backup', 'backup.sqlite']);
    damage();
    const before = database();
    const file = what.includes('another kind') ? 'other.sqlite' : 'backup.sqlite';
    const { code, stderr } = await run(folder, ['restore', file]);
    expect(code).toBe(1);
    expect(stderr).toMatch(fault);
    expect(stderr).toContain('The storage is as it was');
    expect(database().equals(before)).toBe(true);
    expect(readdirSync(folder).filter((name) => /restoring|before/.test(name))).toEqual([]);
  });

  const DROPPED = "a trigger that deletes records, with a name of the service's";

  it('restores all records of a backup with a trigger that has the name of one of the service, and drops it', async () => {
    expect(await run(folder, ['backup', 'backup.sqlite'])).toMatchObject({ code: 0 });
    tamper((copy) => HOSTILE_CHANGES[DROPPED]!(copy, () => 1));
    expect(await run(folder, ['restore', 'backup.sqlite', '--skip-record-check'])).toMatchObject({ code: 0 });
    expect(countsOf(folder)).toEqual({ count: 3000, used: 3000 });
    expect(
      inDatabase(folder, (copy) => copy.prepare(`SELECT name FROM sqlite_schema WHERE sql LIKE '%DELETE FROM%'`).all()),
    ).toEqual([]);
  });

  it.each(Object.entries(HOSTILE_CHANGES).filter(([name]) => ![DROPPED, 'a migration forgotten'].includes(name)))(
    'rejects a backup with %s',
    async (_name, change) => {
      expect(await run(folder, ['backup', 'backup.sqlite'])).toMatchObject({ code: 0 });
      tamper((copy) => change(copy, (below) => below - 1));
      const { code, stderr } = await run(folder, ['restore', 'backup.sqlite']);
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('The storage is as it was') });
      expect(countsOf(folder)).toEqual({ count: 3000, used: 3000 });
      expect(readdirSync(folder).filter((name) => name.includes('restoring'))).toEqual([]);
    },
  );

  it('leaves the records unchecked with --skip-record-check, and says so', async () => {
    expect(await run(folder, ['backup', 'backup.sqlite'])).toMatchObject({ code: 0 });
    tamper((copy) => HOSTILE_CHANGES['an empty wish']!(copy, () => 1));
    expect(await run(folder, ['restore', 'backup.sqlite', '--skip-record-check'])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('The records were not checked'),
    });
  });

  it('restores over a database that is damaged beyond opening, and leaves it no WAL that is not its own', async () => {
    await run(folder, ['backup', 'backup.sqlite']);
    for (const suffix of ['', '-wal']) writeFileSync(join(folder, `cookies.sqlite${suffix}`), 'broken'.repeat(2000));
    expect(await run(folder, ['restore', 'backup.sqlite'])).toMatchObject({ code: 0 });
    // Before anything opens the database, which would take a WAL of that name for its own.
    expect(existsSync(join(folder, 'cookies.sqlite-wal'))).toBe(false);
    const aside = readdirSync(folder).filter((name) => name.includes('.before-'));
    expect(aside).toHaveLength(1);
    expect(readFileSync(join(folder, aside[0]!), 'utf8') === 'broken'.repeat(2000)).toBe(true);
    expect(countsOf(folder)).toEqual({ count: 3000, used: 3000 });
  });
});
