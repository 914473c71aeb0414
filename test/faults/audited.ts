import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { run as runCommand } from '../support/command.js';
import { AUDITED_COOKIES } from '../support/faults/audited-cookies.js';
import { Ledger, writeUntil } from '../support/load/ledger.js';
import { type Fault, LONGEST_LOAD, type Run, Site, untilWritten } from './fault.js';
import { OtherWriter } from './other-writers.js';
import { onItsOwn } from './postgres.js';

/** Acknowledged writes of the service between two kills. */
const WRITES = 2000;

interface Line {
  readonly record: string;
  readonly subject: string | null;
  readonly before: object | null;
  readonly after: object | null;
}

/** The service gets SIGKILL while it and another process write. The audit trail agrees with the records. */
export const audited: Fault = async (run) => {
  const onSqlite = await Site.use((site) => history(site, `sqlite:${join(site.folder, 'cookies.sqlite')}`, run));
  const onPostgres = await Site.use((site) => onItsOwn((server) => history(site, server.url(), run)));
  return { onSqlite, onPostgres };
};

async function history(site: Site, url: string, { times, progress }: Run) {
  const environment = { DATABASE_URL: url };
  const [kit, past] = [new Ledger('kit'), new Ledger('past')];
  const writes = (): number => [kit, past].reduce((sum, ledger) => sum + ledger.answered(/ 2\d\d$/), 0);
  let service = await site.start({ ...environment, ...AUDITED_COOKIES });
  const other = await OtherWriter.start(url);
  try {
    for (let time = 1; time <= times; time++) {
      const stopping = new AbortController();
      const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(LONGEST_LOAD)]);
      const work = Promise.all([writeUntil(signal, service, kit), writePast(signal, other, past, kit)]);
      work.catch(() => stopping.abort());
      await Promise.race([untilWritten(kit, WRITES), work]);
      await service.end('SIGKILL');
      stopping.abort();
      await work;
      service = await site.start({ ...environment, ...AUDITED_COOKIES });
      const verified = await output(site, ['audit', 'verify'], environment);
      progress?.(`audited ${time}/${times}: ${writes()} acknowledged; ${verified.trim()}`);
    }
    assert.equal(await service.end(), 0);
    const [lines, records] = await agreement(site, environment);
    assert.ok(lines >= writes(), `${lines} lines of ${writes()} acknowledged changes`);
    const pastTheKit = past.answered(/ 2\d\d$/);
    return `${writes()} acknowledged, ${pastTheKit} of them past the kit, ${lines} lines, ${records} records`;
  } finally {
    await other.kill();
  }
}

/** Writes one cookie after the other without the service, as long as these are at most a tenth of all. */
async function writePast(signal: AbortSignal, other: OtherWriter, past: Ledger, kit: Ledger): Promise<void> {
  while (!signal.aborted) {
    if (past.answered(/./) * 9 > kit.answered(/ 2\d\d$/)) await sleep(2);
    else await writeOne(other, past);
  }
}

async function writeOne(other: OtherWriter, past: Ledger): Promise<void> {
  const wish = past.nextWish();
  const { id } = (await other.write({ way: 'driver', kind: 'insert', wish }))!;
  past.note(wish, { status: 201, body: { id } });
  await other.write({ way: 'sql', kind: 'update', wish, id });
  past.noteChange(wish, 'large', { status: 204, body: undefined });
  if (id! % 2 === 0) return;
  await other.write({ way: 'repository', kind: 'delete', wish, id });
  past.noteDelete(wish, { status: 204, body: undefined });
}

/** Makes the records from the lines of the trail, and compares them with the stored records. */
async function agreement(site: Site, environment: Record<string, string>): Promise<[lines: number, records: number]> {
  const lines = linesOf<Line>(await output(site, ['audit', 'export', 'cookies'], environment));
  const made = new Map<string, unknown>();
  for (const { record, before, after } of lines) {
    assert.deepEqual(before, made.get(record) ?? null);
    if (after === null) made.delete(record);
    else made.set(record, after);
  }
  const exported = linesOf<{ id?: number }>(await output(site, ['export', 'cookies'], environment));
  const records = exported.filter(({ id }) => id !== undefined).map((record) => [String(record.id), record] as const);
  assert.deepEqual(Object.fromEntries(made), Object.fromEntries(records));
  return [lines.length, records.length];
}

const linesOf = <T>(text: string): T[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as T);

async function output(site: Site, args: readonly string[], environment: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await runCommand(site.folder, args, { environment });
  assert.equal(code, 0, stderr);
  return stdout;
}
