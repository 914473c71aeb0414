import { stripVTControlCharacters } from 'node:util';

/** A test that has ended, or a spec that could not run. */
export interface TestReport {
  readonly passed: boolean;
  readonly title: string;
  readonly message: string;
}

interface TestCase {
  readonly status: string;
  readonly fullName: string;
  readonly failureMessages: readonly (string | null)[];
}

/** Reports every test to the process that started jest, as soon as it has ended. */
export default class Reporter {
  onTestCaseResult(_file: unknown, { status, fullName, failureMessages }: TestCase): void {
    if (status === 'passed' || status === 'failed') send(status === 'passed', fullName, failureMessages[0]);
  }

  onTestResult({ path }: { path: string }, result: { testExecError?: unknown; failureMessage?: string | null }): void {
    if (result.testExecError !== undefined) send(false, `${path} cannot be run`, result.failureMessage);
  }
}

function send(passed: boolean, title: string, message: string | null | undefined): void {
  const report: TestReport = { passed, title, message: stripVTControlCharacters(message ?? '').slice(0, 4000) };
  process.send?.(report);
}
