import assert from 'node:assert/strict';
import { copyFileSync, cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../../src/database/sqlite/better-sqlite3.js';
import { inDatabase, lines, run } from '../support/command.js';
import { Random } from '../fuzz/random.js';
import { Client, COOKIE, temporaryFolder } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';
import type { Fault } from './fault.js';

type Change = (database: Database, random: (below: number) => number) => void;

/** Changes that an attacker could make in a backup with any SQLite tool. */
export const HOSTILE_CHANGES: Readonly<Record<string, Change>> = {
  'a trigger that rewrites records': (database) =>
    database.exec(`CREATE TRIGGER t AFTER INSERT ON cookies BEGIN UPDATE cookies SET wish = 'rewritten'; END`),
  'a trigger that deletes records': (database) =>
    database.exec(`CREATE TRIGGER t AFTER UPDATE ON storage BEGIN DELETE FROM cookies WHERE id % 2 = 0; END`),
  "a trigger that deletes records, with a name of the service's": (database) => {
    database.exec('DROP TRIGGER cookies_insert');
    database.exec(
      'CREATE TRIGGER cookies_insert AFTER UPDATE ON storage BEGIN DELETE FROM cookies WHERE id % 2 = 0; END',
    );
  },
  "a table with the name of one of the service's triggers": (database) => {
    database.exec('DROP TRIGGER cookies_insert; CREATE TABLE cookies_insert (id integer)');
  },
  'a view': (database) => database.exec('CREATE VIEW v AS SELECT * FROM cookies'),
  'an index more': (database) => database.exec('CREATE UNIQUE INDEX i ON cookies (id, wish)'),
  'a table more': (database) => database.exec('CREATE TABLE other (id integer)'),
  'a column more': (database) => database.exec('ALTER TABLE cookies ADD COLUMN note varchar'),
  'a generated column': (database) => database.exec('ALTER TABLE cookies ADD COLUMN twice AS (id * 2) VIRTUAL'),
  'a renamed column': (database) => database.exec('ALTER TABLE cookies RENAME COLUMN wish TO hope'),
  'a table without its checks': (database) => {
    database.exec('CREATE TABLE copy AS SELECT * FROM cookies');
    database.exec('DROP TABLE cookies; ALTER TABLE copy RENAME TO cookies');
  },
  'a table with a value moved from one check to another': (database) => {
    const sql = database.prepare(`SELECT sql FROM sqlite_schema WHERE name = 'cookies'`).pluck().get() as string;
    const moved = sql
      .replace(/,\s*'cinnamon'/, '')
      .replace("'large'", "'large', 'cinnamon'")
      .replace('cookies', 'copy');
    assert.match(moved, /'vanilla'\).*'large', 'cinnamon'\)/);
    database.exec(`${moved}; INSERT INTO copy SELECT * FROM cookies; DROP TABLE cookies`);
    database.exec('ALTER TABLE copy RENAME TO cookies');
  },
  'a BLOB for a wish': (database, random) =>
    database.prepare('UPDATE cookies SET wish = ? WHERE id = ?').run(Buffer.from([0, 255]), 1 + random(20)),
  'a flavor that no request could store': (database, random) => {
    database.pragma('ignore_check_constraints = ON');
    database.prepare(`UPDATE cookies SET flavor = '<script>' WHERE id = ?`).run(1 + random(20));
  },
  'a wish of 1 MB': (database, random) => {
    database.pragma('ignore_check_constraints = ON');
    database.prepare('UPDATE cookies SET wish = ? WHERE id = ?').run('x'.repeat(1_000_000), 1 + random(20));
  },
  'a wish that is not UTF-8': (database, random) =>
    database.prepare(`UPDATE cookies SET wish = CAST(x'C328' AS text) WHERE id = ?`).run(1 + random(20)),
  'an empty wish': (database, random) => {
    database.pragma('ignore_check_constraints = ON');
    database.prepare(`UPDATE cookies SET wish = '' WHERE id = ?`).run(1 + random(20));
  },
  'an id that is not positive': (database, random) =>
    database.prepare('UPDATE cookies SET id = ? WHERE id = 3').run(-random(1000)),
  'a sequence at its end': (database) => database.prepare('UPDATE sqlite_sequence SET seq = 9223372036854775807').run(),
  'a sequence that leaves too few ids': (database, random) =>
    database.prepare('UPDATE sqlite_sequence SET seq = ?').run(Number.MAX_SAFE_INTEGER - random(10_000)),
  'a sequence behind the records': (database) => database.prepare('UPDATE sqlite_sequence SET seq = 1').run(),
  'a record with a revision above that of the resource': (database) =>
    database.prepare('UPDATE storage SET revision = 1').run(),
  'a revision of the resource at its end': (database) =>
    database.prepare('UPDATE storage SET revision = 9223372036854775806').run(),
  'a counter that is wrong': (database, random) =>
    database.prepare('UPDATE storage SET used = ?').run(21 + random(100)),
  'a number of replaced records that is made up': (database) => database.exec('UPDATE storage SET replaced = -5'),
  'a revocation with numbers of 64 bits': (database) =>
    database.exec(`INSERT INTO revoked_tokens (claim, value, issuer, revoked, expires)
                   VALUES ('sub', 'nobody', '', 9223372036854775807, 9223372036854775807)`),
  'a migration forgotten': (database) =>
    database.exec('DELETE FROM migrations WHERE id = (SELECT max(id) FROM migrations)'),
  'a migration of tomorrow': (database) =>
    database.exec(`INSERT INTO migrations (timestamp, name) VALUES (1, 'Tomorrow1')`),
};

const recordsOf = async (folder: string): Promise<string> => (await run(folder, ['export', 'cookies'])).stdout;

/** Starts the service, which stores one more record and counts it. */
async function expectOneMore(folder: string, what: string): Promise<void> {
  const service = await ServiceProcess.start(folder);
  try {
    const client = await Client.of(service);
    const { status } = await client.post(COOKIE);
    const { headers } = await client.get('/cookies?limit=1');
    assert.deepEqual([status, headers.get('x-total-count')], [201, '21'], what);
  } finally {
    await service.end();
  }
}

/** Backups with a random hostile change. Each is rejected, or all records are unchanged and a new one can be stored. */
export const hostileBackups: Fault = async ({ times, progress }) => {
  const counts = { rejected: 0, harmless: 0 };
  const seed = Date.now() % 1_000_000;
  const generator = new Random(seed);
  const random = (below: number): number => generator.below(below);
  const names = Object.keys(HOSTILE_CHANGES);
  const good = temporaryFolder();
  assert.equal((await run(good, ['import', 'cookies'], { input: lines(20) })).code, 0);
  assert.equal((await run(good, ['backup', 'good.sqlite'])).code, 0);
  const expected = await recordsOf(good);
  for (let time = 0; time < times; time++) {
    const name = names[time < names.length ? time : random(names.length)]!;
    const folder = temporaryFolder();
    cpSync(good, folder, { recursive: true });
    copyFileSync(join(folder, 'good.sqlite'), join(folder, 'backup.sqlite'));
    inDatabase(folder, (database) => HOSTILE_CHANGES[name]!(database, random), 'backup.sqlite');
    const { code, stderr } = await run(folder, ['restore', 'backup.sqlite']);
    if (code !== 0) assert.match(stderr, /The storage is as it was/, `${name} (seed ${seed}): ${stderr}`);
    assert.equal(await recordsOf(folder), expected, `${name} (seed ${seed}) changed records`);
    await expectOneMore(folder, `${name} (seed ${seed})`);
    counts[code === 0 ? 'harmless' : 'rejected']++;
    progress?.(`${time + 1}/${times} ${name}: ${code === 0 ? 'harmless' : stderr.split('\n')[0]}`);
    rmSync(folder, { recursive: true });
  }
  rmSync(good, { recursive: true });
  return counts;
};
