/**
 * The limit: what one process can do here at best. Fastify and better-sqlite3 by hand for the operations that are
 * measured, with the token check, validation, header fields, durability and capacity of the service, and without Nest,
 * TypeORM, logs and metrics.
 */
import { Buffer, isUtf8 } from 'node:buffer';
import { createHmac, createSecretKey, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import process from 'node:process';
import { setImmediate } from 'node:timers';
import Database from 'better-sqlite3';
import fastify from 'fastify';

const { HOST, PORT, DATABASE_URL, JWT_SECRET, COOKIES_CAPACITY } = process.env;

const database = new Database(DATABASE_URL.replace(/^sqlite:/, ''));
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
  SELECT cookies.id, flavor, size, wish, cookies.revision, epoch FROM cookies, storage
  WHERE cookies.id = ? AND resource = 'cookies'`);
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

const app = fastify({ genReqId: requestId });

app.removeAllContentTypeParsers();
app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: 16 * 1024 }, (_request, body, done) => done(null, body));

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

app.setErrorHandler((error, request, reply) => {
  const { statusCode = 500, errorCode = 'ERROR', message, details, headers = {} } = error;
  const body = { statusCode, error: STATUS_CODES[statusCode], message, errorCode, requestId: request.id };
  reply
    .code(statusCode)
    .headers(headers)
    .header('cache-control', 'no-store')
    .header('x-content-type-options', 'nosniff')
    .header('x-request-id', request.id)
    .send({ ...body, ...(details && { details }) });
});

process.once('SIGTERM', () => {
  database.close();
  process.exit(0);
});
await app.listen({ host: HOST, port: Number(PORT) });

function requestId({ headers }) {
  const given = headers['x-request-id'];
  return given !== undefined && /^[A-Za-z0-9._-]{1,128}$/.test(given) ? given : randomUUID();
}

function failure(statusCode, errorCode, message, more) {
  return Object.assign(new Error(message), { statusCode, errorCode, ...more });
}

function fault(detail) {
  const name = detail.parameter ?? detail.pointer;
  return failure(400, 'INVALID_REQUEST', `${name}: ${detail.message}`, { details: [detail] });
}

function idIn({ params: { id: text } }) {
  const id = Number(text);
  if (/^[1-9][0-9]{0,15}$/.test(text) && Number.isSafeInteger(id)) return id;
  throw fault({ parameter: 'id', message: 'must be a whole number from 1 to 9007199254740991' });
}

function existing(id) {
  const row = select.get(id);
  if (row === undefined) throw failure(404, 'COOKIE_NOT_FOUND', `There is no cookie ${id}`);
  return row;
}

function etagOf({ epoch, revision }) {
  return `"${epoch}-${revision}"`;
}

function refuseStale(row, { 'if-match': expected }) {
  if (expected === undefined || expected === '*' || expected === etagOf(row)) return;
  throw failure(412, 'PRECONDITION_FAILED', 'The record has changed since you read it; read it again and decide anew');
}

function refuseQuery({ query }) {
  for (const parameter in query) {
    throw fault({ parameter, message: 'is not known here; this route takes no parameters' });
  }
}

function cookieIn({ headers, body }, members) {
  const type = headers['content-type'];
  if (type !== 'application/json' && !/^application\/json *(; *charset="?utf-8"? *)?$/i.test(type ?? '')) {
    const message = 'The Content-Type must be application/json, in UTF-8';
    throw failure(415, 'UNSUPPORTED_MEDIA_TYPE', message, { headers: { accept: 'application/json' } });
  }
  if (!isUtf8(body)) throw failure(400, 'MALFORMED_JSON', 'The body is not valid UTF-8');
  let cookie;
  try {
    cookie = JSON.parse(body.toString());
  } catch (error) {
    throw failure(400, 'MALFORMED_JSON', `The body is not valid JSON: ${error.message}`);
  }
  if (typeof cookie !== 'object' || cookie === null || Array.isArray(cookie)) {
    throw fault({ pointer: '', message: 'must be an object' });
  }
  for (const name of Object.keys(cookie)) {
    if (!members.includes(name)) {
      throw fault({ pointer: `/${name}`, message: `is not known here; known are ${members.join(', ')}` });
    }
  }
  const { flavor, size, wish } = cookie;
  if (flavor !== 'chocolate' && flavor !== 'vanilla' && flavor !== 'cinnamon') {
    const message = 'must be one of the following values: chocolate, vanilla, cinnamon';
    throw fault({ pointer: '/flavor', message });
  }
  if (size !== 'small' && size !== 'medium' && size !== 'large') {
    throw fault({ pointer: '/size', message: 'must be one of the following values: small, medium, large' });
  }
  if (members.includes('wish') && !isWish(wish)) {
    const message = 'must be a text of 1 to 255 characters, without NUL and lone surrogates';
    throw fault({ pointer: '/wish', message });
  }
  return cookie;
}

function isWish(wish) {
  if (typeof wish !== 'string' || wish === '' || wish.length > 510) return false;
  if (wish.length > 255 && [...wish].length > 255) return false;
  return !wish.includes('\0') && wish.isWellFormed();
}

const REALM = 'Bearer realm="cookies"';
const key = createSecretKey(Buffer.from(JWT_SECRET));
const verified = new Map();

function authorize({ headers: { authorization } }, reply, scope) {
  const [, token] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
  if (token === undefined) {
    const message = 'Send a token: Authorization: Bearer <JWT>';
    throw failure(401, 'UNAUTHENTICATED', message, { headers: { 'www-authenticate': REALM } });
  }
  let bearer = verified.get(token);
  if (bearer === undefined || bearer.expiresAt <= Date.now()) {
    bearer = verify(token);
    if (verified.size >= 5000) verified.delete(verified.keys().next().value);
    verified.set(token, bearer);
  }
  if (!bearer.scopes.has(scope)) {
    const challenge = `${REALM}, error="insufficient_scope", scope="${scope}"`;
    const headers = { 'www-authenticate': challenge };
    throw failure(403, 'INSUFFICIENT_SCOPE', `The token needs the scope ${scope}`, { headers });
  }
  reply.header('cache-control', 'private, no-cache').header('vary', 'Authorization');
}

function verify(token) {
  try {
    const [head, payload, signature] = token.split('.');
    const { alg, crit, jwk, jku, x5u, x5c } = JSON.parse(Buffer.from(head, 'base64url'));
    if (alg !== 'HS256' || (crit ?? jwk ?? jku ?? x5u ?? x5c) !== undefined) throw new Error();
    const expected = createHmac('sha256', key).update(`${head}.${payload}`).digest();
    if (!timingSafeEqual(expected, Buffer.from(signature, 'base64url'))) throw new Error();
    const { sub, exp, scope } = JSON.parse(Buffer.from(payload, 'base64url'));
    if (typeof sub !== 'string' || sub === '' || exp * 1000 <= Date.now()) throw new Error();
    return { expiresAt: exp * 1000, scopes: new Set(scope.split(' ')) };
  } catch {
    const message = 'The token is not a well-formed JWT';
    const challenge = `${REALM}, error="invalid_token", error_description="${message}"`;
    throw failure(401, 'INVALID_TOKEN', message, { headers: { 'www-authenticate': challenge } });
  }
}
