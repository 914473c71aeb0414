import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import jestConfig from '../../../jest.config.js';
import type { TestReport } from './reporter.js';

export interface SpecRun {
  /** Titles of the tests that passed before the first failure. */
  readonly passed: readonly string[];
  /** Absent if all tests passed. */
  readonly failure?: TestReport;
}

const REPORTER = join(import.meta.dirname, 'reporter.js');
/** Milliseconds for all tests of a run. A hanging test fails before, by jest's own limit. */
const LONGEST_RUN = 600_000;
/** Milliseconds for jest to end after a failed test, and for started processes after a signal. */
const TIME_TO_END = 1500;

/**
 * Runs specs with the project's jest, without its build and its PostgreSQL, until the first failed test.
 * @param folder of a copy of the project
 * @param tests a pattern of titles; empty: all
 */
export async function runSpecs(
  folder: string,
  specs: readonly string[],
  tests: string,
  environment: Record<string, string>,
): Promise<SpecRun> {
  const child = startJest(folder, specs, tests, environment);
  const exit = once(child, 'exit');
  const passed: string[] = [];
  let failure: TestReport | undefined;
  const failed = new Promise<void>((resolve) => {
    child.on('message', (report: TestReport) => {
      if (report.passed) passed.push(report.title);
      else failure ??= report;
      if (failure !== undefined) resolve();
    });
  });
  let output = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-4000)));
  await Promise.race([exit, failed, sleep(LONGEST_RUN, undefined, { ref: false })]);
  if (failure !== undefined) await Promise.race([exit, sleep(TIME_TO_END)]);
  const { exitCode } = child;
  await end(child, exit);
  if (failure === undefined && exitCode !== 0) {
    failure = { passed: false, title: `jest ended with ${exitCode ?? 'a signal'}`, message: output };
  }
  return { passed, failure };
}

function startJest(
  folder: string,
  specs: readonly string[],
  tests: string,
  environment: Record<string, string>,
): ChildProcess {
  const { globalSetup: _setup, globalTeardown: _teardown, ...rest } = jestConfig;
  const config = {
    ...rest,
    rootDir: folder,
    testRegex: 'spec\\.ts$',
    testPathIgnorePatterns: [],
    reporters: [REPORTER],
  };
  const args = ['--config', JSON.stringify(config), '--runInBand', '--forceExit', '--runTestsByPath', ...specs];
  const jest = join(folder, 'node_modules/jest/bin/jest.js');
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  return spawn(process.execPath, [...flags, jest, ...args, ...(tests === '' ? [] : ['-t', tests])], {
    cwd: folder,
    env: { ...process.env, CI: 'true', ...environment },
    // A process group, so that processes of the tests can be ended, too.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
}

/** Ends jest and all processes of the tests. PostgreSQL ends first, so that it can free its shared memory. */
async function end(child: ChildProcess, exit: Promise<unknown>): Promise<void> {
  for (const signal of ['SIGQUIT', 'SIGKILL'] as const) {
    for (let waited = 0; signalGroup(child, waited === 0 ? signal : 0) && waited < TIME_TO_END; waited += 50) {
      await sleep(50);
    }
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
