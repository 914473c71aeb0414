/**
 * The load generator: sends the requests of an operation, each as soon as its connection is free, and prints the result
 * as JSON. It is a separate process, so that it can have its own core.
 *
 *   node bench/load.js '{"operation":"get","records":1000,"connections":64,"seconds":1,"url":...,"token":...,"pid":...}'
 *
 * With `amount` it sends a fixed number of requests, so that all CPU of the server belongs to requests that count. With
 * `rate` it sends at most that number a second.
 */
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { setImmediate } from 'node:timers';
import autocannon from 'autocannon';
import { operations } from './operations.js';
import { processorTime } from './usage.js';

const TIMEOUT_SECONDS = 60;
/** Milliseconds between autocannon's checks whether it is done. */
const TICK = 20;

const { operation: name, records, connections, seconds, amount, rate, url, token, pid } = JSON.parse(process.argv[2]);
const operation = operations[name];
const authorization = `Bearer ${token}`;

console.log(JSON.stringify(await measure(operation, { seconds, amount })));

async function measure(operation, until) {
  const etag = operation.conditional ? await etagOf(operation.requests[0].path) : undefined;
  const server = processorTime(pid);
  const { result, elapsed } = await send(operation, until, etag && { 'if-none-match': etag });
  const used = processorTime(pid);
  const { statusCodeStats, errors, timeouts, latency } = result;
  const statuses = Object.fromEntries(Object.entries(statusCodeStats).map(([status, { count }]) => [status, count]));
  return {
    ...{ statuses, errors, timeouts, elapsed, p99: latency.p99 },
    cpu: used === undefined ? undefined : used - server,
  };
}

/** @returns autocannon's result, and the seconds until the last response, which end before autocannon's own duration */
async function send({ requests }, { seconds, amount }, headers = {}) {
  // Ids of records that requests with `keepsId` have stored, for later deletes.
  const ids = [];
  // A random start, so that two load processes do not send equal values.
  let turn = records * Math.floor(Math.random() * 9);
  const load = autocannon({
    url,
    sampleInt: TICK,
    headers: { authorization, ...headers },
    connections,
    timeout: TIMEOUT_SECONDS,
    ...(rate !== undefined && { overallRate: rate }),
    ...(amount === undefined ? { duration: seconds } : { amount }),
    requests: requests.map(({ method, path, body, headers: own, keepsId }) => ({
      method,
      path,
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      // Constant text is built once.
      ...([path, body, own].some((part) => typeof part === 'function') && {
        setupRequest: (request) => {
          const state = {
            records,
            turn: turn++,
            get id() {
              return ids.pop();
            },
          };
          return {
            ...request,
            path: typeof path === 'function' ? path(state) : path,
            ...(typeof own === 'function' && { headers: { ...request.headers, ...own(state) } }),
            ...(typeof body === 'function' && { body: JSON.stringify(body(state)) }),
          };
        },
      }),
      ...(keepsId && { onResponse: (_status, answer) => ids.push(JSON.parse(answer).id) }),
    })),
  });
  const started = performance.now();
  let last = started;
  load.on('response', () => (last = performance.now()));
  const sleepAgain = rate === undefined ? stayAwake() : () => {};
  const result = await load;
  sleepAgain();
  return { result, elapsed: (last - started) / 1000 };
}

/**
 * Keeps this process busy, because the kernel would charge waking it to the server, and a slow server would pay more
 * often.
 * @returns a function that ends this
 */
function stayAwake() {
  let isAwake = true;
  const turn = () => isAwake && setImmediate(turn);
  turn();
  return () => (isAwake = false);
}

async function etagOf(path) {
  const response = await globalThis.fetch(url + path, { headers: { authorization } });
  await response.arrayBuffer();
  return response.headers.get('etag');
}
