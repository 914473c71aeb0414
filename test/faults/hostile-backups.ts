import assert from 'node:assert/strict';
import type { Database } from '../../src/database/sqlite/better-sqlite3.js';

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
