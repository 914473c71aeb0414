/**
 * Measures the memory of the service during an hour of mixed load: a line for each minute, the verdict at the end.
 *
 *   node bench/soak.js [--minutes 60] [--rate 1000]
 *
 * Exits with 1 if the second half took more memory than the first one by over a tenth. Run `npm run build` first.
 */
import process from 'node:process';
import { parseArgs } from 'node:util';
import { load } from './compare.js';
import { service } from './programs.js';
import { Stage } from './stage.js';
import { privateMemory } from './usage.js';

const RECORDS = 1000;
const CONNECTIONS = 16;
/** Largest allowed ratio of the medians of the second and the first half. */
const GROWTH = 1.1;

/** A shorter run has too few values. */
const LEAST_MINUTES = 10;

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '60' }, rate: { type: 'string', default: '1000' } },
});
const [minutes, rate] = [Number(values.minutes), Number(values.rate)];
if (!(minutes >= LEAST_MINUTES) || !(rate > 0)) {
  console.error(`--minutes must be at least ${LEAST_MINUTES}, and --rate more than 0`);
  process.exit(2);
}
if (privateMemory(process.pid) === undefined) {
  console.error('This system does not report the memory of a process; Linux does');
  process.exit(2);
}

const stage = new Stage((line) => console.error(line));
try {
  await stage.makeToken();
  const program = await stage.program({ variant: service, records: RECORDS });
  const lane = { label: 'service', operation: 'soak', records: RECORDS };
  const used = [];
  for (let minute = 1; minute <= minutes; minute++) {
    const sample = await load(program, lane, CONNECTIONS, { seconds: 60, rate }, stage.token);
    used.push(privateMemory(program.pid));
    console.log(
      `minute ${minute}: ${Math.round(sample.rate)} requests/s, ${used.at(-1).toFixed(0)} MB private, p99 ${sample.p99} ms`,
    );
  }
  report(used);
} finally {
  await stage.close();
}

/** Reports the growth without the first tenth, in which caches fill. */
function report(used) {
  const warm = used.slice(Math.ceil(used.length / 10));
  const half = Math.ceil(warm.length / 2);
  const [first, second] = [median(warm.slice(0, half)), median(warm.slice(half))];
  const isFlat = second <= first * GROWTH;
  const verdict = isFlat ? 'flat' : 'GROWS';
  console.log(`${verdict}: median ${first.toFixed(0)} MB in the first half, ${second.toFixed(0)} MB in the second`);
  if (!isFlat) process.exitCode = 1;
}

function median(values) {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];
}
