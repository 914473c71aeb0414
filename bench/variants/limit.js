/**
 * The limit: what one process can do here at best. Fastify and better-sqlite3 by hand for the two operations that are
 * measured, with the token check, validation, header fields, durability and capacity of the service, and without Nest,
 * TypeORM, logs and metrics.
 */
import { Buffer, isUtf8 } from 'node:buffer';
import { createHmac, createSecretKey, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import process from 'node:process';
import Database from 'better-sqlite3';
import fastify from 'fastify';

const { HOST, PORT, DATABASE_URL, JWT_SECRET, COOKIES_CAPACITY } = process.env;

const database = new Database(DATABASE_URL.replace(/^sqlite:/, ''));
database.pragma('journal_mode = WAL');
database.pragma('synchronous = FULL');
database.exec(`
  CREATE TABLE storage (resource varchar PRIMARY KEY NOT NULL, epoch varchar NOT NULL, revision integer NOT NULL,
    used integer NOT NULL, CHECK (used >= 0));
  CREATE TABLE cookies (id integer PRIMARY KEY AUTOINCREMENT NOT NULL, flavor varchar NOT NULL, size varchar NOT NULL,
    wish varchar NOT NULL, revision integer NOT NULL,
    CHECK (flavor IN ('chocolate', 'vanilla', 'cinnamon')), CHECK (size IN ('small', 'medium', 'large')),
    CHECK (length(wish) BETWEEN 1 AND 255));
  INSERT INTO storage VALUES ('cookies', '${randomBytes(6).toString('hex')}', 0, 0)`);

const select = database.prepare(`
  SELECT cookies.id, flavor, size, wish, cookies.revision, epoch FROM cookies, storage
  WHERE cookies.id = ? AND resource = 'cookies'`);
const reserve = database.prepare(`
  UPDATE storage SET used = used + 1, revision = revision + 1
  WHERE resource = 'cookies' AND used < ? RETURNING epoch, revision`);
const insert = database.prepare('INSERT INTO cookies (flavor, size, wish, revision) VALUES (?, ?, ?, ?) RETURNING id');

const capacity = Number(COOKIES_CAPACITY);
const create = database.transaction(({ flavor, size, wish }) => {
  const version = reserve.get(capacity);
  if (version === undefined) throw failure(507, 'STORAGE_FULL', 'Storage is full');
  return { id: insert.get(flavor, size, wish, version.revision).id, ...version };
});

const app = fastify({ genReqId: requestId });

app.removeAllContentTypeParsers();
app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: 16 * 1024 }, (_request, body, done) => done(null, body));

app.get('/cookies/:id', (request, reply) => {
  authorize(request, reply, 'cookies:read');
  refuseQuery(request);
  const { id: text } = request.params;
  const id = Number(text);
  if (!/^[1-9][0-9]{0,15}$/.test(text) || !Number.isSafeInteger(id)) {
    throw fault({ parameter: 'id', message: 'must be a whole number from 1 to 9007199254740991' });
  }
  const row = select.get(id);
  if (row === undefined) throw failure(404, 'COOKIE_NOT_FOUND', `There is no cookie ${id}`);
  const etag = `"${row.epoch}-${row.revision}"`;
  reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff').header('etag', etag);
  if (request.headers['if-none-match'] === etag) return reply.code(304).send();
  const { flavor, size, wish } = row;
  reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify({ id, flavor, size, wish }));
});

app.post('/cookies', (request, reply) => {
  authorize(request, reply, 'cookies:write');
  refuseQuery(request);
  const { flavor, size, wish } = cookieIn(request);
  const { id, epoch, revision } = create.immediate({ flavor, size, wish });
  reply
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

function refuseQuery({ query }) {
  for (const parameter in query) {
    throw fault({ parameter, message: 'is not known here; this route takes no parameters' });
  }
}

function cookieIn({ headers, body }) {
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
    if (name !== 'flavor' && name !== 'size' && name !== 'wish') {
      throw fault({ pointer: `/${name}`, message: 'is not known here; known are flavor, size, wish' });
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
  if (!isWish(wish)) {
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
