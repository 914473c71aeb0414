import { randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers';
import { openDatabase } from '../../sqlite.js';
import { HttpError } from './http-error.js';

const TABLES = `
  CREATE TABLE IF NOT EXISTS storage (resource varchar PRIMARY KEY NOT NULL, epoch varchar NOT NULL,
    revision integer NOT NULL, used integer NOT NULL, CHECK (used >= 0));
  CREATE TABLE IF NOT EXISTS cookies (id integer PRIMARY KEY AUTOINCREMENT NOT NULL, flavor varchar NOT NULL,
    size varchar NOT NULL, wish varchar NOT NULL, revision integer NOT NULL,
    CHECK (flavor IN ('chocolate', 'vanilla', 'cinnamon')), CHECK (size IN ('small', 'medium', 'large')),
    CHECK (length(wish) BETWEEN 1 AND 255));
  INSERT OR IGNORE INTO storage VALUES ('cookies', '${randomBytes(6).toString('hex')}', 0, 0)`;

/** Prepared statements of better-sqlite3. The creates of one turn of the event loop share a commit. */
export function openStore(url, capacity) {
  const database = openDatabase(url.replace(/^sqlite:/, ''));
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.exec(TABLES);
  const select = database.prepare(`SELECT id, flavor, size, wish, revision,
    (SELECT epoch FROM storage WHERE resource = 'cookies') AS epoch FROM cookies WHERE id = ?`);
  const reserve = database.prepare(`UPDATE storage SET used = used + 1, revision = revision + 1
    WHERE resource = 'cookies' AND used < ? RETURNING epoch, revision`);
  const insert = database
    .prepare('INSERT INTO cookies (flavor, size, wish, revision) VALUES (?, ?, ?, ?) RETURNING id')
    .pluck();
  const selectUsage = database.prepare(`SELECT epoch, revision, used FROM storage WHERE resource = 'cookies'`);
  const selectAll = database.prepare('SELECT id, flavor, size, wish FROM cookies ORDER BY id');

  let waiting = [];
  const createAll = database.transaction((jobs) => jobs.map(({ cookie }) => createOne(cookie)));

  // Rejects before it changes anything, so that no rollback is needed.
  function createOne({ flavor, size, wish }) {
    const version = reserve.get(capacity);
    return version && { id: insert.get(flavor, size, wish, version.revision), ...version };
  }

  function commitWaiting() {
    const jobs = waiting;
    waiting = [];
    try {
      for (const [index, created] of createAll.immediate(jobs).entries()) {
        if (created === undefined) jobs[index].reject(new HttpError(507, 'STORAGE_FULL', 'Storage is full'));
        else jobs[index].resolve(created);
      }
    } catch (error) {
      for (const { reject } of jobs) reject(error);
    }
  }

  return {
    find(id) {
      const row = select.get(id);
      if (row === undefined) throw new HttpError(404, 'COOKIE_NOT_FOUND', `There is no cookie ${id}`);
      return row;
    },
    create: (cookie) =>
      new Promise((resolve, reject) => {
        if (waiting.push({ cookie, resolve, reject }) === 1) setImmediate(commitWaiting);
      }),
    // Both statements read one state of the database.
    list: database.transaction((etagSeen) => {
      const { epoch, revision, used } = selectUsage.get();
      const etag = `"${epoch}-${revision}"`;
      return { total: used, etag, rows: etag === etagSeen ? undefined : selectAll.all() };
    }),
    close: () => database.close(),
  };
}
