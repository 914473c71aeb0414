/**
 * The load generator, a process of its own so that it can have a core of its own: sends one scenario's request as fast
 * as it is answered, and prints what came back as JSON.
 *
 *   node bench/load.js <scenario> <url> <token> <seconds>
 */
import process from 'node:process';
import autocannon from 'autocannon';
import { scenarios } from './scenarios.js';

const [name, url, token, seconds] = process.argv.slice(2);
const { method, path, body, connections } = scenarios.find((scenario) => scenario.name === name);

const cpu = process.cpuUsage();
const result = await autocannon({
  url: url + path,
  method,
  body: body && JSON.stringify(body),
  headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
  connections,
  duration: Number(seconds),
});
const { user, system } = process.cpuUsage(cpu);
const { statusCodeStats, errors, timeouts, duration, latency } = result;
const statuses = Object.fromEntries(Object.entries(statusCodeStats).map(([status, { count }]) => [status, count]));
console.log(JSON.stringify({ statuses, errors, timeouts, duration, p99: latency.p99, cpu: (user + system) / 1e6 }));
