/**
 * The limit: what one process can do here at best. Fastify and better-sqlite3 by hand for the operations that are
 * measured, with the token check, validation, header fields, durability and capacity of the service, and without Nest,
 * TypeORM, logs and metrics.
 */
import process from 'node:process';
import { authorize, cookieIn, createServer, etagOf, idIn, refuseQuery } from './by-hand.js';
import { openStore } from './limit-store.js';

const { HOST, PORT, DATABASE_URL, COOKIES_CAPACITY } = process.env;

const store = openStore(DATABASE_URL.replace(/^sqlite:/, ''), Number(COOKIES_CAPACITY));
const app = createServer();

app.get('/cookies', (request, reply) => {
  authorize(request, reply, 'cookies:read');
  refuseQuery(request);
  const { account, rows } = store.list(request.headers['if-none-match']);
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
  const row = store.find(idIn(request));
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
  const cookie = await store.write(() => store.replace(id, changes, request.headers));
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
  await store.write(() => store.drop(id, request.headers));
  return reply.code(204).header('x-request-id', request.id).header('x-content-type-options', 'nosniff').send();
});

app.post('/cookies', async (request, reply) => {
  authorize(request, reply, 'cookies:write');
  refuseQuery(request);
  const { flavor, size, wish } = cookieIn(request, ['flavor', 'size', 'wish']);
  const { id, epoch, revision } = await store.write(() => store.create({ flavor, size, wish }));
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
  store.close();
  process.exit(0);
});
await app.listen({ host: HOST, port: Number(PORT) });
