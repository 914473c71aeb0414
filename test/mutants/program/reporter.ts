import { relative } from 'node:path';

/** A test that has ended, or a spec that could not run. */
export interface TestReport {
  readonly passed: boolean;
  readonly spec: string;
  readonly title: string;
  /** The message of the failure, without colors. */
  readonly message: string;
}

interface TestCase {
  readonly status: string;
  readonly fullName: string;
  readonly failureMessages: readonly (string | null)[];
}

interface SpecFile {
  readonly path: string;
}

/** Reports every test to the process that started jest, as soon as it has ended. */
export default class Reporter {
  onTestCaseResult({ path }: SpecFile, { status, fullName, failureMessages }: TestCase): void {
    if (status !== 'passed' && status !== 'failed') return;
    send({ passed: status === 'passed', spec: specName(path), title: fullName, message: plain(failureMessages[0]) });
  }

  onTestResult(
    { path }: SpecFile,
    { testExecError, failureMessage }: { testExecError?: unknown; failureMessage?: string | null },
  ): void {
    if (testExecError === undefined) return;
    send({ passed: false, spec: specName(path), title: 'cannot be run', message: plain(failureMessage) });
  }
}

function send(report: TestReport): void {
  process.send?.(report);
}

function specName(path: string): string {
  return relative(process.cwd(), path);
}

function plain(message: string | null | undefined): string {
  // eslint-disable-next-line no-control-regex
  return (message ?? '').replaceAll(/\x1b\[[0-9;]*m/g, '').slice(0, 4000);
}
