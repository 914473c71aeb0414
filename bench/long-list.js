import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { nodeOn, onCore } from './cores.js';
import { forgetPeak, memory } from './usage.js';
import { variants } from './variants.js';

const RECORDS = 1_000_000;
const COMPARED = variants.filter(({ name, answersAlike }) => name === 'service' || answersAlike);

/** The list of a million records: its time, the memory it takes, and what it does to requests beside it. */
export async function longList(stage, { rounds }) {
  const rows = COMPARED.map((variant) => ({ label: variant.name, variant, samples: [] }));
  const shell = { label: 'sqlite3 -json', samples: [] };
  const hasShell = spawnSync('sqlite3', ['--version']).status === 0;
  for (let round = 1; round <= rounds; round++) {
    for (const { label, variant, samples } of rows) {
      const sample = await listOnce(variant, stage);
      samples.push(sample);
      const { milliseconds, memoryAdded, p99 } = sample;
      stage.progress(
        `list-${RECORDS} ${round}/${rounds} ${label}: ${milliseconds.toFixed(0)} ms, ` +
          `${memoryAdded?.toFixed(0) ?? '?'} MB above idle, p99 beside it ${p99.toFixed(1)} ms`,
      );
    }
    if (hasShell) shell.samples.push({ milliseconds: await printByShell(stage) });
  }
  return [...rows.map(({ label, samples }) => ({ label, samples })), ...(hasShell ? [shell] : [])];
}

async function listOnce(variant, stage) {
  const program = await stage.start(variant, RECORDS);
  try {
    await sleep(500);
    const idle = memory(program.pid)?.now;
    if (idle !== undefined) forgetPeak(program.pid);
    const client = join(import.meta.dirname, 'long-list-load.js');
    const [command, args] = nodeOn('load', [client, program.url, stage.token]);
    const answer = JSON.parse((await promisify(execFile)(command, args)).stdout);
    const peak = memory(program.pid)?.peak;
    return { ...answer, idle, memoryAdded: idle === undefined ? undefined : peak - idle };
  } finally {
    await program.stop();
  }
}

/** Milliseconds that SQLite's own shell takes to print the rows to nowhere, from the same file, on the same core. */
async function printByShell(stage) {
  const file = join(await stage.storage(COMPARED[0], RECORDS), 'cookies.sqlite');
  const [command, args] = onCore('server', 'sqlite3', [
    ...['-readonly', '-json', file],
    'select id, flavor, size, wish from cookies order by id',
  ]);
  const started = performance.now();
  const [code] = await once(spawn(command, args, { stdio: 'ignore' }), 'exit');
  if (code !== 0) throw new Error(`sqlite3 ended with ${code}`);
  return performance.now() - started;
}
