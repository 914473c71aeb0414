/**
 * The limit: what one process can do here at best. Fastify and better-sqlite3 by hand for the operations that are
 * measured, with the token check, validation, header fields, durability and capacity of the service, and without Nest,
 * TypeORM, logs and metrics.
 */
import { randomBytes } from 'node:crypto';
import process from 'node:process';
import { setImmediate } from 'node:timers';
import { openDatabase } from '../../dist/src/database/sqlite/better-sqlite3.js';
import {
  authorize,
  cookieIn,
  createServer,
  etagOf,
  failure,
  idIn,
  notFound,
  refuseQuery,
  refuseStale,
} from './by-hand.js';

const { HOST, PORT, DATABASE_URL, COOKIES_CAPACITY } = process.env;

const database = openDatabase(DATABASE_URL.replace(/^sqlite:/, ''));
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
const insert = database.prepare('INSERT INTO cookies (flavor, size, wish, revision) VALUES (?, ?, ?, ?) RETURNING id');
const touch = database.prepare(`
  UPDATE storage SET revision = revision + 1 WHERE resource = 'cookies' RETURNING revision`);
const change = database.prepare('UPDATE cookies SET flavor = ?, size = ?, revision = ? WHERE id = ?');
const release = database.prepare(`
  UPDATE storage SET used = used - 1, revision = revision + 1 WHERE resource = 'cookies'`);
const remove = database.prepare('DELETE FROM cookies WHERE id = ?');
const selectAccount = database.prepare(`SELECT epoch, revision, used FROM storage WHERE resource = 'cookies'`);
const selectAll = database.prepare('SELECT id, flavor, size, wish FROM cookies ORDER BY id');

const capacity = Number(COOKIES_CAPACITY);
const create = ({ flavor, size, wish }) => {
  const version = reserve.get(capacity);
  if (version === undefined) throw failure(507, 'STORAGE_FULL', 'Storage is full');
  return { id: insert.get(flavor, size, wish, version.revision).id, ...version };
};
const replace = (id, { flavor, size }, headers) => {
  const row = existing(id);
  refuseStale(row, headers);
  if (row.flavor !== flavor || row.size !== size) change.run(flavor, size, touch.get().revision, id);
  return { id, flavor, size, wish: row.wish };
};
const drop = (id, headers) => {
  refuseStale(existing(id), headers);
  remove.run(id);
  release.run();
};

// One commit for the writes of one turn of the event loop. Each refuses before it changes anything, so that none has to
// be undone alone.
let waiting = [];
const commit = database.transaction((writes) => writes.map(({ work }) => outcomeOf(work)));
function write(work) {
  return new Promise((resolve, reject) => {
    if (waiting.push({ work, resolve, reject }) === 1) setImmediate(commitWaiting);
  });
}
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
function outcomeOf(work) {
  try {
    return { value: work() };
  } catch (error) {
    return { error };
  }
}

// Both belong to one state of the database.
const list = database.transaction((etagSeen) => {
  const account = selectAccount.get();
  return { account, rows: etagSeen === etagOf(account) ? undefined : selectAll.all() };
});

const app = createServer();

app.get('/cookies', (request, reply) => {
  authorize(request, reply, 'cookies:read');
  refuseQuery(request);
  const { account, rows } = list(request.headers['if-none-match']);
  reply
    .header('x-request-id', request.id)
    .header('x-content-type-options', 'nosniff')
    .header('x-total-count', account.used)
    .header('etag', etagOf(account));
  if (rows === undefined) return reply.code(304).send();
  reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(rows));
});

app.get('/cookies/:id', (request, reply) => {
  authorize(request, reply, 'cookies:read');
  refuseQuery(request);
  const row = existing(idIn(request));
  const etag = etagOf(row);
  reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff').header('etag', etag);
  if (request.headers['if-none-match'] === etag) return reply.code(304).send();
  const { id, flavor, size, wish } = row;
  reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify({ id, flavor, size, wish }));
});

app.put('/cookies/:id', async (request, reply) => {
  authorize(request, reply, 'cookies:write');
  refuseQuery(request);
  const id = idIn(request);
  const changes = cookieIn(request, ['flavor', 'size']);
  const cookie = await write(() => replace(id, changes, request.headers));
  return reply
    .header('x-request-id', request.id)
    .header('x-content-type-options', 'nosniff')
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(cookie));
});

app.delete('/cookies/:id', async (request, reply) => {
  authorize(request, reply, 'cookies:write');
  refuseQuery(request);
  const id = idIn(request);
  await write(() => drop(id, request.headers));
  return reply.code(204).header('x-request-id', request.id).header('x-content-type-options', 'nosniff').send();
});

app.post('/cookies', async (request, reply) => {
  authorize(request, reply, 'cookies:write');
  refuseQuery(request);
  const { flavor, size, wish } = cookieIn(request, ['flavor', 'size', 'wish']);
  const { id, epoch, revision } = await write(() => create({ flavor, size, wish }));
  return reply
    .code(201)
    .header('x-request-id', request.id)
    .header('x-content-type-options', 'nosniff')
    .header('location', `/cookies/${id}`)
    .header('etag', `"${epoch}-${revision}"`)
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify({ id, flavor, size, wish }));
});

process.once('SIGTERM', () => {
  database.close();
  process.exit(0);
});
await app.listen({ host: HOST, port: Number(PORT) });

function existing(id) {
  const row = select.get(id);
  if (row === undefined) throw notFound(id);
  return row;
}
