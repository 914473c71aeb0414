/**
 * A handwritten cookie storage on Fastify, without Nest and TypeORM. It does the costly work of the service: checks of
 * token and body, header fields, durability, capacity, a log line and a histogram. `probe.js` compares its responses
 * with those of the service.
 */
import { Buffer } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import process from 'node:process';
import { createVerifier } from 'fast-jwt';
import fastify from 'fastify';
import { pino } from 'pino';
import { Histogram } from 'prom-client';
import { HttpError } from './http-error.js';

const { HOST, PORT, DATABASE_URL, COOKIES_CAPACITY, JWT_SECRET } = process.env;

const { openStore } = await import(DATABASE_URL.startsWith('sqlite:') ? './sqlite-store.js' : './postgres-store.js');
const store = await openStore(DATABASE_URL, Number(COOKIES_CAPACITY));

const app = fastify({
  genReqId: ({ headers }) => {
    const given = headers['x-request-id'];
    return given !== undefined && /^[A-Za-z0-9._-]{1,128}$/.test(given) ? given : randomUUID();
  },
  bodyLimit: 16 * 1024,
  ajv: { customOptions: { coerceTypes: false, removeAdditional: false } },
});
app.removeContentTypeParser('text/plain');

const verify = createVerifier({
  key: Buffer.from(JWT_SECRET),
  algorithms: ['HS256'],
  requiredClaims: ['sub', 'exp'],
  cache: true,
});

app.decorateRequest('subject');
app.addHook('onRequest', (request, reply, done) => {
  reply.headers({
    'x-request-id': request.id,
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, no-cache',
    vary: 'Authorization',
  });
  const { sub, scope } = payloadOf(request.headers.authorization);
  const needed = request.method === 'GET' ? 'cookies:read' : 'cookies:write';
  if (!scope.split(' ').includes(needed)) throw new HttpError(403, 'INSUFFICIENT_SCOPE', `The token needs ${needed}`);
  request.subject = sub;
  done();
});

function payloadOf(authorization) {
  const [, token] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
  if (token === undefined) throw new HttpError(401, 'UNAUTHENTICATED', 'Send a token: Authorization: Bearer <JWT>');
  try {
    return verify(token);
  } catch (error) {
    throw new HttpError(401, 'INVALID_TOKEN', error.message);
  }
}

// Writes lines in blocks, as the service does.
const log = pino(
  { base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (level) => ({ level }) } },
  pino.destination({ dest: 1, sync: false, minLength: 8192 }),
);
const durations = new Histogram({
  name: 'http_request_duration_seconds',
  help: 'Time from the arrival of a request until its response is sent',
  labelNames: ['method', 'route', 'status'],
  buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
});
app.addHook('onResponse', ({ id: requestId, method, routeOptions, subject, ip: address }, reply, done) => {
  const { statusCode: status, elapsedTime: milliseconds } = reply;
  const route = routeOptions.url;
  durations.observe({ method, route, status }, milliseconds / 1000);
  log.info({ requestId, method, route, status, milliseconds, subject, address }, 'request');
  done();
});

app.setErrorHandler((error, request, reply) => {
  const { statusCode = 500, errorCode = 'INVALID_REQUEST', message } = error;
  const body = { statusCode, error: STATUS_CODES[statusCode], message, errorCode, requestId: request.id };
  reply.code(statusCode).header('cache-control', 'no-store').send(body);
});

const id = { type: 'integer' };
const flavor = { enum: ['chocolate', 'vanilla', 'cinnamon'] };
const size = { enum: ['small', 'medium', 'large'] };
// JSON Schema counts code points; NUL and lone surrogates are rejected.
const wish = { type: 'string', minLength: 1, maxLength: 255, pattern: '^[^\\0\\p{Surrogate}]*$' };
const string = { type: 'string' };
const record = { type: 'object', properties: { id, flavor: string, size: string, wish: string } };
const noQuery = { type: 'object', additionalProperties: false };
const params = { type: 'object', properties: { id: { type: 'string', pattern: '^[1-9][0-9]{0,14}$' } } };
const body = {
  type: 'object',
  required: ['flavor', 'size', 'wish'],
  additionalProperties: false,
  properties: { flavor, size, wish },
};

app.get('/cookies', { schema: { querystring: noQuery } }, async (request, reply) => {
  const { total, etag, rows } = await store.list(request.headers['if-none-match']);
  reply.header('x-total-count', total).header('etag', etag);
  return rows ?? reply.code(304).send();
});

app.get(
  '/cookies/:id',
  { schema: { params, querystring: noQuery, response: { 200: record } } },
  async (request, reply) => {
    const row = await store.find(Number(request.params.id));
    const etag = `"${row.epoch}-${row.revision}"`;
    reply.header('etag', etag);
    return request.headers['if-none-match'] === etag ? reply.code(304).send() : row;
  },
);

app.post('/cookies', { schema: { querystring: noQuery, body, response: { 201: record } } }, async (request, reply) => {
  const { flavor, size, wish } = request.body;
  const { id, epoch, revision } = await store.create(request.body);
  reply.code(201).header('location', `/cookies/${id}`).header('etag', `"${epoch}-${revision}"`);
  return { id, flavor, size, wish };
});

process.once(
  'SIGTERM',
  () =>
    void app
      .close()
      .then(() => store.close())
      .then(() => process.exit(0)),
);
await app.listen({ host: HOST, port: Number(PORT) });
