import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { table } from './table.js';
import { targetRows } from './targets.js';

/** Runs that were kept, oldest first, each with what it measured of the targets. */
const FILE = join(import.meta.dirname, 'history.json');
const NOT_MEASURED = '-';

/** Keeps what a run measured of the targets; the row of the same commit and Node is replaced. */
export function keepRun(results) {
  const measured = targetRows(results).flatMap(([what, against, , value]) =>
    value === NOT_MEASURED ? [] : [{ what, against, value }],
  );
  const run = { date: new Date().toISOString().slice(0, 10), commit: commit(), node: process.version, measured };
  const others = kept().filter((each) => each.commit !== run.commit || each.node !== run.node);
  writeFileSync(FILE, `${JSON.stringify([...others, run], undefined, 2)}\n`);
}

/** The section of docs/benchmarks.md: a row for each target that some run has measured, a column for each run. */
export function historySection() {
  return `## By version\n\n${ABOUT}\n\n${historyTable()}`;
}

const ABOUT =
  'The same figures, of the runs that were kept. Each had the machine in a state of its own: they say what has changed, not by how much.';

function historyTable() {
  const runs = kept();
  const rows = targetRows([]).map(([what, against]) => [
    what,
    against,
    ...runs.map(({ measured }) => {
      const found = measured.find((each) => each.what === what && each.against === against);
      return found?.value ?? NOT_MEASURED;
    }),
  ]);
  return table(
    ['what', 'against', ...runs.map(({ date, commit, node }) => `${date}, ${commit}, Node ${node.slice(1)}`)],
    rows.filter((row) => row.slice(2).some((value) => value !== NOT_MEASURED)),
  );
}

function kept() {
  return JSON.parse(readFileSync(FILE, 'utf8'));
}

function commit() {
  return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: import.meta.dirname, encoding: 'utf8' }).trim();
}
