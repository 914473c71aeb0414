/**
 * Compares the service with other programs that store cookies, side by side in one run.
 *
 *   npm run bench                       everything; writes docs/benchmarks.md and its charts
 *   npm run bench -- get post-64        some scenarios, by name or family; the tables only
 *   npm run bench -- budget            what each part of the way of a request costs; writes its section of docs/benchmarks.md
 *   npm run bench -- --rounds 9 --seconds 4
 *   npm run bench -- get post --keep    some scenarios, and their figures kept for the table by version
 *
 * The tables go to stdout, the progress to stderr.
 */
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { compare } from './compare.js';
import { stayOnLoadCore } from './cores.js';
import { describeMachine } from './machine.js';
import { probe } from './probe.js';
import { FAMILY as BUDGET, budgetSection } from './report/budget.js';
import { historySection, keepRun } from './report/history.js';
import { replaceSection } from './report/page.js';
import { asText, writeReport } from './report/report.js';
import { scenarios } from './scenarios.js';
import { Stage } from './stage.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '1' },
    keep: { type: 'boolean', default: false },
  },
});
const settings = { rounds: Number(values.rounds), seconds: Number(values.seconds) };
const unknown = positionals.filter(
  (given) => !scenarios.some(({ name, family }) => given === name || given === family),
);
if (unknown.length > 0 || !(settings.rounds >= 1) || !(settings.seconds > 0)) {
  console.error(`Wrong: ${unknown.join(', ') || '--rounds or --seconds'}`);
  console.error(`There are: ${[...new Set(scenarios.flatMap(({ family, name }) => [family, name]))].join(', ')}`);
  process.exit(2);
}
const chosen = scenarios.filter(
  ({ name, family }) => positionals.length === 0 || positionals.includes(name) || positionals.includes(family),
);

let done = 0;
const started = performance.now();
const stage = new Stage((line) => {
  const seconds = Math.floor((performance.now() - started) / 1000);
  const clock = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
  console.error(`[${Math.min(done + 1, chosen.length)}/${chosen.length}, ${clock}] ${line}`);
});
process.once('SIGINT', () => void stage.close().then(() => process.exit(130)));

try {
  stayOnLoadCore();
  await stage.makeToken();
  await probe(stage);
  const machine = describeMachine(stage.folder);
  const results = [];
  for (const scenario of chosen) {
    await stage.keepOnly(chosen.slice(done).flatMap(({ lanes = [] }) => lanes));
    const run = scenario.run ?? ((...args) => compare(scenario, ...args));
    results.push({ ...scenario, lanes: await run(stage, settings) });
    done++;
  }
  await stage.keepOnly([]);
  const minutes = (performance.now() - started) / 60_000;
  const figures = { results, memories: stage.memories, machine, minutes, ...settings };
  console.log(asText(figures));
  if (chosen.length === scenarios.length) {
    keepRun(results);
    writeReport(figures);
    console.error('docs/benchmarks.md is written');
  } else if (positionals.join() === BUDGET) {
    replaceSection(budgetSection(results));
    console.error('The budget in docs/benchmarks.md is written');
  } else if (values.keep) {
    keepRun(results);
    replaceSection(historySection());
    console.error('The figures by version in docs/benchmarks.md are written');
  }
} finally {
  await stage.close();
}
