import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { promisify } from 'node:util';
import { nodeOn } from './cores.js';

const CLI = join(import.meta.dirname, '../dist/src/cli/main.js');
const COMMANDS = [['--help'], ['token', '--sub', 'bench']];

/** How long commands take that need no database, from the start of their process to its end. */
export async function commands(stage, { rounds }) {
  const lanes = COMMANDS.map((words) => ({ label: `cli ${words[0]}`, words, samples: [] }));
  const env = { PATH: process.env.PATH, JWT_SECRET: stage.secret };
  for (let round = 0; round <= rounds; round++) {
    for (const { label, words, samples } of lanes) {
      const [command, args] = nodeOn('server', [CLI, ...words]);
      const started = performance.now();
      await promisify(execFile)(command, args, { cwd: stage.folder, env });
      const milliseconds = performance.now() - started;
      // The first, not counted, fills the file cache.
      if (round > 0) samples.push({ milliseconds });
      stage.progress(`commands ${round}/${rounds} ${label}: ${milliseconds.toFixed(0)} ms`);
    }
  }
  return lanes.map(({ label, samples }) => ({ label, samples }));
}
