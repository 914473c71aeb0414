/** What the programs by hand have in common: the service's checks and answers on Fastify, without Nest, logs and metrics. */
import { Buffer, isUtf8 } from 'node:buffer';
import { createHmac, createSecretKey, randomUUID, timingSafeEqual } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import process from 'node:process';
import fastify from 'fastify';

const { JWT_SECRET } = process.env;

/** Fastify that hands bodies on as bytes and answers errors in the service's shape. */
export function createServer() {
  const app = fastify({ genReqId: requestId });

  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: 16 * 1024 }, (_request, body, done) =>
    done(null, body),
  );

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

  return app;
}

function requestId({ headers }) {
  const given = headers['x-request-id'];
  return given !== undefined && /^[A-Za-z0-9._-]{1,128}$/.test(given) ? given : randomUUID();
}

export function failure(statusCode, errorCode, message, more) {
  return Object.assign(new Error(message), { statusCode, errorCode, ...more });
}

function fault(detail) {
  const name = detail.parameter ?? detail.pointer;
  return failure(400, 'INVALID_REQUEST', `${name}: ${detail.message}`, { details: [detail] });
}

export function idIn({ params: { id: text } }) {
  const id = Number(text);
  if (/^[1-9][0-9]{0,15}$/.test(text) && Number.isSafeInteger(id)) return id;
  throw fault({ parameter: 'id', message: 'must be a whole number from 1 to 9007199254740991' });
}

export function etagOf({ epoch, revision }) {
  return `"${epoch}-${revision}"`;
}

export function refuseStale(row, { 'if-match': expected }) {
  if (expected === undefined || expected === '*' || expected === etagOf(row)) return;
  throw failure(412, 'PRECONDITION_FAILED', 'The record has changed since you read it; read it again, then decide');
}

export function refuseQuery({ query }) {
  for (const parameter in query) {
    throw fault({ parameter, message: 'is not known here; this route takes no parameters' });
  }
}

export function cookieIn({ headers, body }, members) {
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

export function authorize({ headers: { authorization } }, reply, scope) {
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

export function notFound(id) {
  return failure(404, 'COOKIE_NOT_FOUND', `There is no cookie ${id}`);
}
