/**
 * Fetches the whole list once while it sends a small GET every few milliseconds, whether or not the last one has been
 * answered, so that a server that stands still is seen by all the requests that meet it. Prints JSON.
 *
 *   node bench/long-list-load.js <url> <token>
 */
import { Agent, get } from 'node:http';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { clearInterval, setInterval } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';

const EVERY = 5;
const QUIET = 500;

const [url, token] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });
let waits = [];
const pending = new Set();

const timer = setInterval(() => {
  const request = milliseconds('/cookies/1').then(({ time }) => waits.push(time));
  pending.add(request);
  void request.finally(() => pending.delete(request));
}, EVERY);
// Connections are made and code is compiled before it counts.
await sleep(QUIET);
waits = [];
await sleep(QUIET);
const alone = percentile(0.99);
waits = [];
const { time, bytes } = await milliseconds('/cookies');
clearInterval(timer);
await Promise.all(pending);
const figures = {
  milliseconds: time,
  bytes,
  alone,
  p99: percentile(0.99),
  slowest: percentile(1),
  count: waits.length,
};
console.log(JSON.stringify(figures));
process.exit(0);

/** Gets a path and reads the answer to its end. */
function milliseconds(path) {
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const request = get(url + path, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
      let bytes = 0;
      if (response.statusCode !== 200) reject(new Error(`${path} answered ${response.statusCode}`));
      response.on('data', (chunk) => (bytes += chunk.length));
      response.on('error', reject);
      response.on('end', () => resolve({ time: performance.now() - started, bytes }));
    });
    request.on('error', reject);
  });
}

function percentile(part) {
  const sorted = waits.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}
