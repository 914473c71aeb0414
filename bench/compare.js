import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { nodeOn } from './cores.js';
import { operations } from './operations.js';

/** V8 compiles during the first 50 000 requests. The limit in seconds ends the warm-up of slow programs. */
const WARM_UP = { requests: 50_000, seconds: 20 };

/**
 * Runs all lanes of a scenario in turn. Each round begins with another lane, so that disturbances affect all lanes. The
 * rate of the last sample determines the number of requests.
 * @returns the lanes' labels and samples
 */
export async function compare({ name, lanes, connections }, stage, { rounds, seconds }) {
  const runs = [];
  for (const lane of lanes) {
    const program = await stage.program(lane);
    const rate = await warmUp(program, lane, connections, stage);
    stage.progress(`${name} warmed up ${lane.label}: ${Math.round(rate)} requests/s`);
    runs.push({ lane, program, rate, samples: [] });
  }
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < runs.length; turn++) {
      const run = runs[(round + turn) % runs.length];
      const { lane, program, rate, samples } = run;
      const amount = Math.max(1, Math.round((rate * seconds) / connections)) * connections;
      const sample = await load(program, lane, connections, { amount }, stage.token);
      samples.push(sample);
      run.rate = sample.rate;
      const figures = `${Math.round(sample.rate)} requests/s, ${sample.cost?.toFixed(1) ?? '?'} us each`;
      stage.progress(`${name} ${round + 1}/${rounds} ${lane.label}: ${figures}`);
    }
  }
  return runs.map(({ lane, samples }) => ({ label: lane.label, samples }));
}

/** @returns requests a second at the end of the warm-up */
async function warmUp(program, lane, connections, { token }) {
  const until = performance.now() + WARM_UP.seconds * 1000;
  let rate = 0;
  for (let requests = 0; requests < WARM_UP.requests && performance.now() < until; requests += rate) {
    ({ rate } = await load(program, lane, connections, { seconds: 1 }, token));
  }
  return rate;
}

export async function load(program, { label, operation, records }, connections, until, token) {
  const job = { operation, records, connections, ...until, url: program.url, token, pid: program.pid };
  const [command, args] = nodeOn('load', [join(import.meta.dirname, 'load.js'), JSON.stringify(job)]);
  const { stdout } = await promisify(execFile)(command, args);
  const { statuses, errors, timeouts, elapsed, p99, cpu } = JSON.parse(stdout);
  const count = Object.values(statuses).reduce((sum, one) => sum + one, 0);
  const right = Object.keys(statuses).every((status) => operations[operation].statuses.includes(Number(status)));
  // A warm-up with a time limit may end without a response; a fixed number of requests must be answered.
  if ((count === 0 && until.amount !== undefined) || !right || errors > 0 || timeouts > 0) {
    const seen = JSON.stringify({ statuses, errors, timeouts });
    throw new Error(`${label} had failed requests (${operation}): ${seen}`);
  }
  return {
    rate: count === 0 ? 0 : count / elapsed,
    cost: cpu === undefined ? undefined : (cpu / count) * 1e6,
    p99,
  };
}
