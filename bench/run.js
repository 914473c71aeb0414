/**
 * Compares the service with other programs that store cookies, in turn, in one run.
 *
 *   npm run bench                              everything; writes docs/benchmarks.md
 *   npm run bench -- get post                  some scenarios; prints their figures only
 *   npm run bench -- --rounds 9 --seconds 4    other than 7 rounds of 1 s
 *
 * The figures go to stdout, the progress to stderr.
 */
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { stayOnLoadCore } from './cores.js';
import { describeMachine } from './machine.js';
import { probe } from './probe.js';
import { figuresTable, table, writePage } from './report.js';
import { scenarios } from './scenarios.js';
import { Stage } from './stage.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '7' }, seconds: { type: 'string', default: '1' } },
});
const settings = { rounds: Number(values.rounds), seconds: Number(values.seconds) };
const names = scenarios.map(({ name }) => name);
const unknown = positionals.filter((given) => !names.includes(given));
if (unknown.length > 0 || !(settings.rounds >= 1) || !(settings.seconds > 0)) {
  console.error(`Wrong: ${unknown.join(', ') || '--rounds or --seconds'}. Scenarios: ${names.join(', ')}`);
  process.exit(2);
}
const chosen = scenarios.filter(({ name }) => positionals.length === 0 || positionals.includes(name));

let done = 0;
const started = performance.now();
const stage = new Stage((line) => {
  const seconds = Math.floor((performance.now() - started) / 1000);
  const clock = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
  console.error(`[${Math.min(done + 1, chosen.length)}/${chosen.length}, ${clock}] ${line}`);
});

try {
  stayOnLoadCore();
  await stage.makeToken();
  await probe(stage);
  const machine = describeMachine(stage.folder);
  const results = [];
  for (const scenario of chosen) {
    await stage.keepOnly(chosen.slice(done).flatMap(({ lanes = [] }) => lanes));
    results.push({ ...scenario, lanes: await scenario.run(stage, settings) });
    done++;
  }
  console.log(`${table(['machine', ''], machine)}\n\n${figuresTable(results)}`);
  if (chosen.length === scenarios.length) {
    const minutes = (performance.now() - started) / 60_000;
    writePage({ results, machine, minutes, ...settings });
    console.error('docs/benchmarks.md is written');
  }
} finally {
  await stage.close();
}
