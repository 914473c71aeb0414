/**
 * Breaks the promises of the service one at a time, in a copy of the working tree, and tells which of them no test holds.
 *
 *   npm run mutants                                  every mutant of test/mutants
 *   npm run mutants -- --only http --only lists      those of some modules, or one: --only http/<id>
 *   npm run mutants -- --sample 10 --seed 2026-11-22 ten of them, the same for the same seed
 *   npm run mutants -- --processes 2                 two at a time
 *   npm run mutants -- --again                       also those whose result is known
 *   npm run mutants -- --list                        their names, and nothing is run
 *
 * The table goes to stdout, the progress to stderr; ends with 1 when a mutant survives or is not valid. A run that was broken off
 * goes on where it was: results are kept in node_modules/.cache/mutants until the service, the specs or the mutant change.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { loadMutants, type NamedMutant, obstacleOf } from './mutant.js';
import { isProblem, lineOf, reportOf, type Tried } from './report.js';
import { type Result, Results } from './results.js';
import { Sources } from './sources.js';
import { type Project, Worker } from './worker.js';

const ROOT = process.cwd();
const CACHE = join(ROOT, 'node_modules/.cache/mutants');

function readArguments() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: [] },
      sample: { type: 'string' },
      seed: { type: 'string', default: '1' },
      processes: { type: 'string', default: '1' },
      again: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
    },
  });
  for (const name of ['sample', 'processes'] as const) {
    const value = values[name];
    if (value !== undefined && !/^[1-9]\d{0,3}$/.test(value)) throw new Error(`--${name} is a number from 1 to 9999`);
  }
  return values;
}

/** @throws if a name matches no mutant */
function chosen(mutants: readonly NamedMutant[], names: readonly string[]): NamedMutant[] {
  const fits = (name: string, mutant: NamedMutant): boolean => [mutant.module, mutant.name, mutant.id].includes(name);
  const unknown = names.find((name) => !mutants.some((mutant) => fits(name, mutant)));
  if (unknown !== undefined) throw new Error(`There is no module and no mutant ${unknown}; --list names them`);
  return mutants.filter((mutant) => names.length === 0 || names.some((name) => fits(name, mutant)));
}

function sampleOf(mutants: readonly NamedMutant[], size: number, seed: string): NamedMutant[] {
  const rank = ({ name }: NamedMutant): string => createHash('sha256').update(`${seed}\0${name}`).digest('hex');
  return mutants.toSorted((one, other) => (rank(one) < rank(other) ? -1 : 1)).slice(0, size);
}

/** Tries all mutants with this many processes. */
async function tryAll(project: Project, mutants: readonly NamedMutant[], processes: number): Promise<Tried[]> {
  const tried: Tried[] = [];
  const waiting = [...mutants];
  const work = async (): Promise<void> => {
    const worker = new Worker(project);
    try {
      for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
        tried.push({ mutant, result: await worker.try(mutant) });
        console.error(`[${tried.length}/${mutants.length}] ${lineOf(tried.at(-1)!)}`);
      }
    } finally {
      await worker.stop();
    }
  };
  await Promise.all(Array.from({ length: Math.min(processes, mutants.length) }, work));
  return tried;
}

/** The result of a mutant that cannot be tried. */
function obstacleTo(mutant: NamedMutant): Result | undefined {
  const message = obstacleOf(ROOT, mutant);
  return message === undefined ? undefined : { name: mutant.name, key: '', outcome: 'invalid', seconds: 0, message };
}

async function main(): Promise<void> {
  const { only, sample, seed, processes, again, list } = readArguments();
  const all = chosen(await loadMutants(ROOT), only);
  const mutants = sample === undefined ? all : sampleOf(all, Number(sample), seed);
  if (list) return console.log(mutants.map(({ name, breaks }) => `${name}: ${breaks}`).join('\n'));
  const sources = new Sources(ROOT);
  const results = new Results(join(CACHE, 'results.ndjson'));
  const done: Tried[] = [];
  for (const mutant of mutants) {
    const obstacle = obstacleTo(mutant);
    // Always computed, because the key must be read before a file changes.
    const earlier = obstacle === undefined ? results.get(sources.keyOf(mutant)) : undefined;
    const result = obstacle ?? (again ? undefined : earlier);
    if (result !== undefined) done.push({ mutant, result });
  }
  if (done.length > 0) console.error(`${done.length} of ${mutants.length} need not be tried`);
  const rest = mutants.filter((mutant) => !done.some((tried) => tried.mutant === mutant));
  const project = { root: ROOT, sources, results, cache: join(CACHE, 'jest') };
  const tried = [...done, ...(await tryAll(project, rest, Number(processes)))];
  console.log(reportOf(tried));
  if (tried.some(isProblem)) process.exitCode = 1;
}

// The end of the program removes the copies.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

await main().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 2;
});
