/** The storage of the limit: its tables, its prepared statements, and one commit for the writes of one turn of the event loop. */
import { randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers';
import { openDatabase } from '../../dist/src/database/sqlite/better-sqlite3.js';
import { etagOf, failure, notFound, refuseStale } from './by-hand.js';

/** @param capacity in records */
export function openStore(path, capacity) {
  const database = openDatabase(path);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.exec(`
    CREATE TABLE IF NOT EXISTS storage (resource varchar PRIMARY KEY NOT NULL, epoch varchar NOT NULL, revision integer NOT NULL,
      used integer NOT NULL, CHECK (used >= 0));
    CREATE TABLE IF NOT EXISTS cookies (id integer PRIMARY KEY AUTOINCREMENT NOT NULL, flavor varchar NOT NULL, size varchar NOT NULL,
      wish varchar NOT NULL, revision integer NOT NULL,
      CHECK (flavor IN ('chocolate', 'vanilla', 'cinnamon')), CHECK (size IN ('small', 'medium', 'large')),
      CHECK (length(wish) BETWEEN 1 AND 255));
    INSERT OR IGNORE INTO storage VALUES ('cookies', '${randomBytes(6).toString('hex')}', 0, 0)`);

  const select = database.prepare(`
    SELECT id, flavor, size, wish, revision, (SELECT epoch FROM storage WHERE resource = 'cookies') AS epoch
    FROM cookies WHERE id = ?`);
  const reserve = database.prepare(`
    UPDATE storage SET used = used + 1, revision = revision + 1
    WHERE resource = 'cookies' AND used < ? RETURNING epoch, revision`);
  const insert = database.prepare(
    'INSERT INTO cookies (flavor, size, wish, revision) VALUES (?, ?, ?, ?) RETURNING id',
  );
  const touch = database.prepare(`
    UPDATE storage SET revision = revision + 1 WHERE resource = 'cookies' RETURNING revision`);
  const change = database.prepare('UPDATE cookies SET flavor = ?, size = ?, revision = ? WHERE id = ?');
  const release = database.prepare(`
    UPDATE storage SET used = used - 1, revision = revision + 1 WHERE resource = 'cookies'`);
  const remove = database.prepare('DELETE FROM cookies WHERE id = ?');
  const selectAccount = database.prepare(`SELECT epoch, revision, used FROM storage WHERE resource = 'cookies'`);
  const selectAll = database.prepare('SELECT id, flavor, size, wish FROM cookies ORDER BY id');

  const find = (id) => {
    const row = select.get(id);
    if (row === undefined) throw notFound(id);
    return row;
  };
  const create = ({ flavor, size, wish }) => {
    const version = reserve.get(capacity);
    if (version === undefined) throw failure(507, 'STORAGE_FULL', 'Storage is full');
    return { id: insert.get(flavor, size, wish, version.revision).id, ...version };
  };
  const replace = (id, { flavor, size }, headers) => {
    const row = find(id);
    refuseStale(row, headers);
    if (row.flavor !== flavor || row.size !== size) change.run(flavor, size, touch.get().revision, id);
    return { id, flavor, size, wish: row.wish };
  };
  const drop = (id, headers) => {
    refuseStale(find(id), headers);
    remove.run(id);
    release.run();
  };

  // One commit for the writes of one turn of the event loop. Each refuses before it changes anything, so that none has to
  // be undone alone.
  let waiting = [];
  const commit = database.transaction((writes) => writes.map(({ work }) => outcomeOf(work)));
  const write = (work) =>
    new Promise((resolve, reject) => {
      if (waiting.push({ work, resolve, reject }) === 1) setImmediate(commitWaiting);
    });
  function commitWaiting() {
    const writes = waiting;
    waiting = [];
    try {
      for (const [index, { value, error }] of commit.immediate(writes).entries()) {
        if (error === undefined) writes[index].resolve(value);
        else writes[index].reject(error);
      }
    } catch (error) {
      for (const { reject } of writes) reject(error);
    }
  }

  // Both belong to one state of the database.
  const list = database.transaction((etagSeen) => {
    const account = selectAccount.get();
    return { account, rows: etagSeen === etagOf(account) ? undefined : selectAll.all() };
  });

  return { find, create, replace, drop, write, list, close: () => database.close() };
}

function outcomeOf(work) {
  try {
    return { value: work() };
  } catch (error) {
    return { error };
  }
}
