import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import jestConfig from '../../../jest.config.js';
import type { TestReport } from './reporter.js';

export interface SpecRun {
  readonly outcome: 'passed' | 'failed' | 'timed out';
  readonly seconds: number;
  /** Number of tests that passed before the first failure. */
  readonly passed: number;
  readonly failure?: TestReport;
}

export interface SpecRunOptions {
  /** A copy of the project. */
  readonly folder: string;
  readonly temporary: string;
  /** Folder of jest's transformed files. */
  readonly cache: string;
  readonly specs: readonly string[];
  readonly tests?: string;
  /** Limit in seconds. */
  readonly limit: number;
  readonly environment?: Record<string, string>;
}

const REPORTER = join(import.meta.dirname, 'reporter.js');
/** Milliseconds that jest has to end after a failed test. */
const TIME_TO_END = 1500;

/** Runs specs with the project's jest, without its build and its PostgreSQL, until the first failed test. */
export async function runSpecs(options: SpecRunOptions): Promise<SpecRun> {
  const started = performance.now();
  const child = startJest(options);
  const exit = once(child, 'exit').then(() => true);
  let passed = 0;
  let failure: TestReport | undefined;
  const failed = new Promise<void>((resolve) => {
    child.on('message', (report: TestReport) => {
      if (report.passed) passed++;
      else failure ??= report;
      if (failure !== undefined) resolve();
    });
  });
  let output = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-4000)));
  const limit = AbortSignal.timeout(Math.round(options.limit * 1000));
  const expired = new Promise<void>((resolve) => limit.addEventListener('abort', () => resolve()));
  await Promise.race([exit, failed, expired]);
  if (failure !== undefined) await Promise.race([exit, sleep(TIME_TO_END)]);
  const code = child.exitCode;
  await end(child, exit);
  const seconds = (performance.now() - started) / 1000;
  if (failure !== undefined) return { outcome: 'failed', seconds, passed, failure };
  if (code === 0) return { outcome: 'passed', seconds, passed };
  if (code === null && child.signalCode !== null && limit.aborted) return { outcome: 'timed out', seconds, passed };
  const spec = options.specs.join(' ');
  const message = `jest ended with ${code ?? child.signalCode}: ${output}`;
  return { outcome: 'failed', seconds, passed, failure: { passed: false, spec, title: 'cannot be run', message } };
}

function startJest(options: SpecRunOptions): ChildProcess {
  const { folder, cache, specs, tests, limit, temporary, environment } = options;
  const config = {
    ...jestConfig,
    testPathIgnorePatterns: [],
    rootDir: folder,
    globalSetup: undefined,
    globalTeardown: undefined,
    cacheDirectory: cache,
    reporters: [REPORTER],
    // A hanging test fails with its title before the whole run is ended.
    testTimeout: Math.round(limit * 500),
  };
  const program = join(folder, 'node_modules/jest/bin/jest.js');
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const args = ['--config', JSON.stringify(config), '--runInBand', '--forceExit', '--runTestsByPath', ...specs];
  return spawn(process.execPath, [...flags, program, ...args, ...(tests === undefined ? [] : ['-t', tests])], {
    cwd: folder,
    env: { ...process.env, TMPDIR: temporary, CI: 'true', ...environment },
    // A process group, so that processes of the tests can be ended, too.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
}

/** Ends jest and all processes of the tests. PostgreSQL ends first, so that it can free its shared memory. */
async function end(child: ChildProcess, exit: Promise<unknown>): Promise<void> {
  for (const signal of ['SIGQUIT', 'SIGKILL'] as const) {
    for (let waited = 0; signalGroup(child, waited === 0 ? signal : 0) && waited < 1500; waited += 50) await sleep(50);
  }
  await exit;
}

/** @returns whether the group still has a process */
function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid!, signal);
  } catch {
    return false;
  }
}
