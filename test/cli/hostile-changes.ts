import assert from 'node:assert/strict';
import type { Database } from '../../src/database/sqlite/better-sqlite3.js';

type Change = (database: Database) => void;

/** Changes that an attacker could make in a backup with any SQLite tool; mostly SQL. */
export const HOSTILE_CHANGES: Readonly<Record<string, string | Change>> = {
  'a trigger that rewrites records':
    "CREATE TRIGGER t AFTER INSERT ON cookies BEGIN UPDATE cookies SET wish = 'rewritten'; END",
  'a trigger that deletes records':
    'CREATE TRIGGER t AFTER UPDATE ON storage BEGIN DELETE FROM cookies WHERE id % 2 = 0; END',
  "a trigger that deletes records, with a name of the service's": `
    DROP TRIGGER cookies_insert;
    CREATE TRIGGER cookies_insert AFTER UPDATE ON storage BEGIN DELETE FROM cookies WHERE id % 2 = 0; END`,
  'a trigger that deletes records, with a name like those of the tables that ANALYZE makes':
    'CREATE TRIGGER "sqlite-stat" AFTER UPDATE ON storage BEGIN DELETE FROM cookies WHERE id % 2 = 0; END',
  "a table with the name of one of the service's triggers":
    'DROP TRIGGER cookies_insert; CREATE TABLE cookies_insert (id integer)',
  'a view': 'CREATE VIEW v AS SELECT * FROM cookies',
  'an index more': 'CREATE UNIQUE INDEX i ON cookies (id, wish)',
  'a table more': 'CREATE TABLE other (id integer)',
  'a column more': 'ALTER TABLE cookies ADD COLUMN note varchar',
  'a generated column': 'ALTER TABLE cookies ADD COLUMN twice AS (id * 2) VIRTUAL',
  'a renamed column': 'ALTER TABLE cookies RENAME COLUMN wish TO hope',
  'a table without its checks':
    'CREATE TABLE copy AS SELECT * FROM cookies; DROP TABLE cookies; ALTER TABLE copy RENAME TO cookies',
  'a table with a value moved from one check to another': (database) => {
    const sql = database.prepare(`SELECT sql FROM sqlite_schema WHERE name = 'cookies'`).pluck().get() as string;
    const withoutCinnamon = sql.replace(/,\s*'cinnamon'/, '').replace('cookies', 'copy');
    const moved = withoutCinnamon.replace("'large'", "'large', 'cinnamon'");
    assert.match(moved, /'vanilla'\).*'large', 'cinnamon'\)/);
    database.exec(`${moved}; INSERT INTO copy SELECT * FROM cookies; DROP TABLE cookies`);
    database.exec('ALTER TABLE copy RENAME TO cookies');
  },
  'a type with a blank, which changes texts to numbers': reworded('"wish" varchar', '"wish" varch ar'),
  'a type that contains NOT NULL': reworded('"wish" varchar NOT NULL', '"wish" "varchar" "NOT" "NULL"'),
  'a name that contains its check': reworded(
    '"cookies_wish" CHECK (length("wish") BETWEEN 1 AND 255)',
    '"cookies_wish CHECK (length(wish) BETWEEN 1 AND 255)"',
  ),
  'a BLOB for a wish': "UPDATE cookies SET wish = x'00FF' WHERE id = 2",
  'a flavor that no request could store': unchecked("UPDATE cookies SET flavor = '<script>' WHERE id = 2"),
  'a wish of 1 MB': unchecked("UPDATE cookies SET wish = printf('%.*c', 1000000, 'x') WHERE id = 2"),
  'a wish that is not UTF-8': "UPDATE cookies SET wish = CAST(x'C328' AS text) WHERE id = 2",
  'an empty wish': unchecked("UPDATE cookies SET wish = '' WHERE id = 2"),
  'an id that is not positive': 'UPDATE cookies SET id = -7 WHERE id = 3',
  'a sequence at its end': 'UPDATE sqlite_sequence SET seq = 9223372036854775807',
  'a sequence that leaves too few ids': `UPDATE sqlite_sequence SET seq = ${Number.MAX_SAFE_INTEGER - 9999}`,
  'a record with a revision above that of the resource': 'UPDATE storage SET revision = 1',
  'a revision of the resource at its end': 'UPDATE storage SET revision = 9223372036854775806',
  'a number of replaced records that is made up': 'UPDATE storage SET replaced = -5',
  'a revocation with numbers of 64 bits': `
    INSERT INTO revoked_tokens (claim, value, issuer, revoked, expires)
    VALUES ('sub', 'nobody', '', 9223372036854775807, 9223372036854775807)`,
};

function unchecked(sql: string): string {
  return `PRAGMA ignore_check_constraints = ON; ${sql}`;
}

/** Changes the text of the definition of the table itself, which no statement for tables could do. */
function reworded(found: string, now: string): Change {
  return (database) => {
    const sql = database.prepare(`SELECT sql FROM sqlite_schema WHERE name = 'cookies'`).pluck().get() as string;
    const changed = sql.replace(found, now);
    assert.notEqual(changed, sql);
    database.unsafeMode().pragma('writable_schema = ON');
    database.prepare(`UPDATE sqlite_schema SET sql = ? WHERE name = 'cookies'`).run(changed);
  };
}

export function makeHostile(database: Database, name: string): void {
  const change = HOSTILE_CHANGES[name]!;
  if (typeof change === 'string') database.exec(change);
  else change(database);
}
