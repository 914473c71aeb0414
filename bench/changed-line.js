import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, cpSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './program.js';

const ROOT = join(import.meta.dirname, '..');
/** Files that `start:dev` does not need. The packages are shared. */
const LEFT_OUT = ['.git', 'node_modules', 'dist', 'data', 'coverage', 'docs', 'test', 'bench', '.env'];
const CHANGED = 'src/cookies/cookies.module.ts';
const LONGEST_WAIT = 120_000;

/**
 * Measures the seconds from a changed line until a service under `npm run start:dev` has run the line and is ready. No
 * process is pinned to a core.
 */
export async function changedLine(stage, { rounds }) {
  const folder = stage.emptyFolder();
  for (const name of readdirSync(ROOT).filter((each) => !LEFT_OUT.includes(each))) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const development = await start(folder);
  const samples = [];
  try {
    await development.ready('');
    for (let round = 1; round <= rounds; round++) {
      const mark = `line ${round} has changed`;
      const started = performance.now();
      appendFileSync(join(folder, CHANGED), `console.log('${mark}');\n`);
      await development.ready(mark);
      const seconds = (performance.now() - started) / 1000;
      samples.push({ seconds });
      stage.progress(`changed-line ${round}/${rounds} service: ${seconds.toFixed(2)} s`);
    }
  } finally {
    await development.stop();
  }
  return [{ label: 'service', samples }];
}

async function start(folder) {
  const [port, managementPort] = [await freePort(), await freePort()];
  const env = { ...process.env, NODE_ENV: 'development', PORT: String(port), MANAGEMENT_PORT: String(managementPort) };
  // A process group, because npm passes no signal on to its child.
  const child = spawn('npm', ['run', '--silent', 'start:dev'], { cwd: folder, env, detached: true });
  const kill = () => process.kill(-child.pid, 'SIGKILL');
  process.once('exit', kill);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));

  /** Waits until the service has printed `mark` and is ready. */
  async function ready(mark) {
    for (const until = performance.now() + LONGEST_WAIT; performance.now() < until; await sleep(10)) {
      if (child.exitCode !== null) break;
      if (!output.includes(mark)) continue;
      const response = await globalThis.fetch(`http://127.0.0.1:${managementPort}/health/ready`).catch(() => undefined);
      await response?.text().catch(() => undefined);
      if (response?.ok) return;
    }
    throw new Error(`npm run start:dev is not ready:\n${output}`);
  }

  async function stop() {
    process.off('exit', kill);
    if (child.exitCode !== null) return;
    process.kill(-child.pid, 'SIGTERM');
    // `close` comes when all processes of the group have closed the output.
    await once(child, 'close');
  }

  return { ready, stop };
}
