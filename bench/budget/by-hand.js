/**
 * A GET of one record and a POST by hand, as `variants/limit.js` has them, with a log and metrics, and with parts switched off.
 *
 *   node bench/budget/by-hand.js log metrics ...
 */
import { writeSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { authorize, cookieIn, createServer, idIn, refuseQuery } from '../variants/by-hand.js';
import { openStore } from '../variants/limit-store.js';
import { STORED, STORED_JSON } from './parts.js';

const { HOST, PORT, DATABASE_URL, COOKIES_CAPACITY } = process.env;
const off = new Set(process.argv.slice(2));
const has = (part) => !off.has(part);

const store = has('database') ? openStore(DATABASE_URL.replace(/^sqlite:/, ''), Number(COOKIES_CAPACITY)) : undefined;
const fixed = { ...STORED, epoch: 'e'.repeat(12), revision: 1 };
const app = createServer();

const BUCKETS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000];
const times = new Map();
/** Characters. */
const WRITE_AT = 65_536;
let lines = '';

app.get('/cookies/:id', (request, reply) => {
  const started = performance.now();
  if (has('guard')) authorize(request, reply, 'cookies:read');
  if (has('guard')) refuseQuery(request);
  const id = has('pipes') ? idIn(request) : 1;
  const { epoch, revision, ...record } = store === undefined ? fixed : store.find(id);
  if (has('header fields')) addFields(request, reply).header('etag', `"${epoch}-${revision}"`);
  finish(request, reply, 200, record, started);
});

app.post('/cookies', async (request, reply) => {
  const started = performance.now();
  if (has('guard')) authorize(request, reply, 'cookies:write');
  if (has('guard')) refuseQuery(request);
  const cookie = has('pipes') ? cookieIn(request, ['flavor', 'size', 'wish']) : STORED;
  const { id, epoch, revision } = store === undefined ? fixed : await store.write(() => store.create(cookie));
  if (has('header fields')) {
    addFields(request, reply).header('location', `/cookies/${id}`).header('etag', `"${epoch}-${revision}"`);
  }
  const { flavor, size, wish } = cookie;
  finish(request, reply, 201, { id, flavor, size, wish }, started);
  return reply;
});

process.once('SIGTERM', () => {
  store?.close();
  process.exit(0);
});
await app.listen({ host: HOST, port: Number(PORT) });

function addFields(request, reply) {
  return reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff');
}

function finish(request, reply, status, record, started) {
  if (has('header fields')) reply.header('content-type', 'application/json; charset=utf-8');
  reply.code(status).send(has('serializer') ? JSON.stringify(record) : STORED_JSON);
  const milliseconds = performance.now() - started;
  if (has('metrics')) count(request.method, status, milliseconds);
  if (has('log')) log(request, status, milliseconds);
}

/** Times in milliseconds, by method and status. */
function count(method, status, milliseconds) {
  const key = method + status;
  const series = times.get(key) ?? { counts: Array(BUCKETS.length + 1).fill(0), sum: 0 };
  times.set(key, series);
  let bucket = 0;
  while (milliseconds > BUCKETS[bucket]) bucket++;
  series.counts[bucket] += 1;
  series.sum += milliseconds;
}

function log({ id, method, ip }, status, milliseconds) {
  lines +=
    `{"level":"info","time":"${new Date().toISOString()}","requestId":"${id}","method":"${method}",` +
    `"route":"/cookies","status":${status},"milliseconds":${milliseconds.toFixed(3)},"subject":"bench","address":"${ip}"}\n`;
  if (lines.length < WRITE_AT) return;
  writeSync(1, lines);
  lines = '';
}
