import assert from 'node:assert/strict';
import { run as runCommand } from '../support/command.js';
import { AUDITED_COOKIES } from '../support/faults/audited-cookies.js';
import type { Fault } from './fault.js';
import { history, onBothEngines } from './other-writers.js';

/** Acknowledged writes without the service between two kills. */
const WRITES = 300;

interface Line {
  readonly record: string;
  readonly before: object | null;
  readonly after: object | null;
}

/** Like `otherWriters`, with audited cookies. After each kill the audit trail is whole, and in the end it agrees with the records. */
export const audited: Fault = (run) =>
  onBothEngines(async (site, database) => {
    const output = async (...args: string[]): Promise<string> => {
      const environment = { DATABASE_URL: database.url };
      const { code, stdout, stderr } = await runCommand(site.folder, args, { environment });
      assert.equal(code, 0, stderr);
      return stdout;
    };
    const check = async (): Promise<void> => void (await output('audit', 'verify'));
    const counts = await history(site, database, run, { environment: AUDITED_COOKIES, writes: WRITES, check });
    const lines = linesOf<Line>(await output('audit', 'export', 'cookies'));
    assert.ok(
      lines.length >= counts.acknowledged,
      `${lines.length} lines of ${counts.acknowledged} acknowledged changes`,
    );
    const exported = linesOf<{ id?: number }>(await output('export', 'cookies'));
    const records = exported.filter(({ id }) => id !== undefined).map((record) => [String(record.id), record] as const);
    assert.deepEqual(Object.fromEntries(recordsOf(lines)), Object.fromEntries(records));
    return { ...counts, lines: lines.length };
  });

/** The records that result from the lines of a trail, by id. */
function recordsOf(lines: readonly Line[]): Map<string, object> {
  const records = new Map<string, object>();
  for (const { record, before, after } of lines) {
    assert.deepEqual(before, records.get(record) ?? null);
    if (after === null) records.delete(record);
    else records.set(record, after);
  }
  return records;
}

const linesOf = <T>(text: string): T[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as T);
