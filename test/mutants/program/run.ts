/**
 * Breaks the promises of the service one at a time, in a copy of the working tree, and reports promises without a test.
 *
 *   npm run mutants                                  every mutant of test/mutants
 *   npm run mutants -- --only http --only lists      mutants of some files, or one: --only http/<id>
 *   npm run mutants -- --from sqlite/<id>            this mutant and the next: continues an interrupted run
 *   npm run mutants -- --list                        prints names and promises, and runs nothing
 *
 * One line for each mutant goes to stdout. The program ends with 1 when a mutant survives or is not valid.
 */
import { parseArgs } from 'node:util';
import { type LocatedMutant, Locator, type Mutant, readMutants } from './mutant.js';
import { type Result, Trial } from './trial.js';

const ROOT = process.cwd();

function readArguments() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: [] },
      from: { type: 'string' },
      list: { type: 'boolean', default: false },
    },
  });
  return values;
}

function chosen(mutants: readonly Mutant[], { only, from }: ReturnType<typeof readArguments>): Mutant[] {
  const fits = (name: string, mutant: Mutant): boolean => mutant.name === name || mutant.name.startsWith(`${name}/`);
  const unknown = [...only, from].find((name) => name !== undefined && !mutants.some((mutant) => fits(name, mutant)));
  if (unknown !== undefined) throw new Error(`There is no mutant ${unknown}; --list names them`);
  const first = from === undefined ? 0 : mutants.findIndex((mutant) => fits(from, mutant));
  return mutants.slice(first).filter((mutant) => only.length === 0 || only.some((name) => fits(name, mutant)));
}

async function tryAll(mutants: readonly LocatedMutant[], locator: Locator): Promise<void> {
  const counts = { killed: 0, survived: 0, invalid: 0 };
  const trial = await Trial.create(ROOT, locator);
  try {
    for (const mutant of mutants) {
      const result = await trial.try(mutant);
      counts[result.outcome] += 1;
      report(mutant, result);
    }
  } finally {
    await trial.stop();
  }
  console.log(`${mutants.length} mutants: ${JSON.stringify(counts)}`);
}

function report({ name, breaks, survives }: Mutant, { outcome, reason }: Result): void {
  console.log(`${name}: ${outcome}, ${outcome === 'killed' ? reason : `${reason}\n  It breaks: ${breaks}`}`);
  if (outcome === 'invalid' || (outcome === 'survived' && survives === '')) process.exitCode = 1;
}

async function main(): Promise<void> {
  const values = readArguments();
  const mutants = chosen(readMutants(ROOT), values);
  if (values.list) return console.log(mutants.map(({ name, breaks }) => `${name}: ${breaks}`).join('\n'));
  const locator = new Locator(ROOT);
  const located: LocatedMutant[] = [];
  for (const mutant of mutants) {
    try {
      located.push(locator.locate(mutant));
    } catch (error) {
      report(mutant, { outcome: 'invalid', reason: (error as Error).message });
    }
  }
  await tryAll(located, locator);
}

// The end of the program removes the copies.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

await main().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 2;
});
