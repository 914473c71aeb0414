/**
 * Compares the service with other programs that store cookies, side by side in one run.
 *
 *   npm run bench                       every scenario
 *   npm run bench -- get-64             one of them
 *   npm run bench -- --rounds 9 --seconds 10
 *
 * The figures go to stdout, the progress to stderr.
 */
import { Buffer } from 'node:buffer';
import { execFile } from 'node:child_process';
import { createSecretKey, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { isDeepStrictEqual, parseArgs, promisify } from 'node:util';
import { SignJWT } from 'jose';
import { nodeOn, processorTime, unpinned } from './cores.js';
import { syncTime } from './disk.js';
import { Program } from './program.js';
import { probes, scenarios } from './scenarios.js';
import { variants } from './variants.js';

const WARM_UP_SECONDS = 2;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '5' }, seconds: { type: 'string', default: '4' } },
});
const rounds = Number(values.rounds);
const chosen = scenarios.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
if (chosen.length === 0) {
  console.error(
    `No scenario is called ${positionals.join(', ')}. There are: ${scenarios.map((s) => s.name).join(', ')}`,
  );
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'bench-'));
const secret = randomBytes(32).toString('base64url');
const token = await new SignJWT({ scope: 'cookies:read cookies:write' })
  .setProtectedHeader({ alg: 'HS256' })
  .setSubject('bench')
  .setExpirationTime('1d')
  .sign(createSecretKey(Buffer.from(secret)));
const programs = [];

try {
  for (const variant of variants) programs.push(await Program.start(variant, join(folder, variant.name), secret));
  await probe();
  describeRun();
  for (const scenario of chosen) print(scenario, await measure(scenario));
} finally {
  await Promise.all(programs.map((program) => program.stop()));
  rmSync(folder, { recursive: true, force: true });
}

/** Stores record 1 everywhere, and sees that the programs which claim to answer alike do. */
async function probe() {
  const [first, ...others] = programs;
  for (const request of probes) {
    const expected = await send(first, request);
    for (const program of others) {
      const answer = await send(program, request);
      if (program.variant.answersAlike && !isDeepStrictEqual(answer, expected)) {
        const both = JSON.stringify({ [first.variant.name]: expected, [program.variant.name]: answer }, null, 2);
        throw new Error(`The answers to ${request.method} ${request.path} differ:\n${both}`);
      }
    }
  }
}

/** An answer as far as two programs can have it in common. */
async function send(program, { method, path, body, headers }) {
  const response = await globalThis.fetch(program.url + path, {
    method,
    body: body && JSON.stringify(body),
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }), ...headers },
  });
  const { requestId, ...rest } = await response.json();
  const own = ['content-length', 'date', 'etag', 'x-request-id', 'keep-alive'];
  const fields = [...response.headers].filter(([name]) => !own.includes(name));
  const names = [...response.headers.keys()];
  return { status: response.status, fields, names, body: rest, hasRequestId: requestId !== undefined };
}

/** Runs all programs in turn, each round beginning with another one, so that what disturbs the machine disturbs all. */
async function measure(scenario) {
  const samples = new Map(programs.map((program) => [program, []]));
  for (const program of programs) await load(program, scenario, WARM_UP_SECONDS);
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < programs.length; turn++) {
      const program = programs[(round + turn) % programs.length];
      const sample = await load(program, scenario, values.seconds);
      samples.get(program).push(sample);
      const figures = `${Math.round(sample.rate)} requests/s, ${sample.cost?.toFixed(1) ?? '?'} us each`;
      console.error(`${scenario.name} ${round + 1}/${rounds} ${program.variant.name}: ${figures}`);
    }
  }
  return samples;
}

async function load(program, scenario, seconds) {
  const [command, args] = nodeOn('load', [
    join(import.meta.dirname, 'load.js'),
    ...[scenario.name, program.url, token, String(seconds)],
  ]);
  const before = processorTime(program.pid);
  const { stdout } = await promisify(execFile)(command, args);
  const after = processorTime(program.pid);
  const { statuses, errors, timeouts, duration, p99, cpu } = JSON.parse(stdout);
  const count = statuses[scenario.status] ?? 0;
  if (count === 0 || Object.keys(statuses).length !== 1 || errors > 0 || timeouts > 0) {
    const seen = JSON.stringify({ statuses, errors, timeouts });
    throw new Error(`${program.variant.name} did not answer every request of ${scenario.name} well: ${seen}`);
  }
  const used = before === undefined || after === undefined ? undefined : after - before;
  return {
    rate: count / duration,
    cost: used === undefined ? undefined : (used / count) * 1e6,
    busy: used === undefined ? undefined : used / duration,
    loadBusy: cpu / duration,
    p99,
  };
}

function describeRun() {
  const [{ model }] = cpus();
  console.log(`node ${process.version}, ${availableParallelism()} x ${model}, load average ${loadavg()[0].toFixed(1)}`);
  console.log(
    `${rounds} rounds of ${values.seconds} s in turn, after ${WARM_UP_SECONDS} s of warm-up; load by autocannon`,
  );
  console.log(
    unpinned === undefined
      ? 'the program under test on one core, the load on another'
      : `NOT pinned to cores, so the figures disturb each other: ${unpinned}`,
  );
  console.log(`the disk makes 4 KiB durable in ${syncTime(folder).toFixed(2)} ms`);
  for (const { name, about } of variants) console.log(`${name}: ${about}`);
}

function print(scenario, samples) {
  console.log(`\n${scenario.name}: ${scenario.what}, ${scenario.connections} at once`);
  const rows = [...samples].map(([program, all]) => {
    const figures = (of) => all.map(of).filter((value) => value !== undefined);
    return {
      name: program.variant.name,
      rate: summary(figures(({ rate }) => rate)),
      cost: summary(figures(({ cost }) => cost)),
      busy: summary(figures(({ busy }) => busy * 100)),
      loadBusy: summary(figures(({ loadBusy }) => loadBusy * 100)),
      p99: summary(figures(({ p99 }) => p99)),
    };
  });
  const [service, ...others] = rows;
  const header = ['', 'requests/s', '(spread)', 'CPU us/request', '(spread)', 'p99 ms', 'busy %', 'load busy %'];
  const lines = rows.map(({ name, rate, cost, busy, loadBusy, p99 }) => [
    name,
    ...[rate.median.toFixed(0), `${rate.min.toFixed(0)}-${rate.max.toFixed(0)}`],
    ...[cost.median.toFixed(1), `${cost.min.toFixed(1)}-${cost.max.toFixed(1)}`],
    ...[p99.median.toFixed(0), busy.median.toFixed(0), loadBusy.median.toFixed(0)],
  ]);
  for (const cells of [header, ...lines]) {
    console.log(cells.map((cell, index) => (index === 0 ? cell.padEnd(10) : cell.padStart(16))).join(''));
  }
  for (const other of others) {
    const rate = (service.rate.median / other.rate.median).toFixed(2);
    const cost = (service.cost.median / other.cost.median).toFixed(2);
    console.log(`service / ${other.name}: ${rate} of its requests/s, ${cost} times its CPU a request`);
  }
}

function summary(all) {
  const sorted = [...all].sort((one, other) => one - other);
  const middle = sorted.length / 2;
  const median = (sorted[Math.floor(middle)] + sorted[Math.ceil(middle) - 1]) / 2;
  return { median, min: sorted[0] ?? NaN, max: sorted.at(-1) ?? NaN };
}
