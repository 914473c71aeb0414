import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  countsOf,
  folderWith,
  inDatabase,
  lines,
  type Outcome,
  outcomeOf,
  run,
  startCommand,
} from '../support/command.js';
import { type Database, openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import { temporaryFolder } from '../support/service.js';
import { until } from '../support/until.js';
import { FileCalls, type FileFault } from '../support/faults/file-calls.js';
import { expectEnd } from './ended-with.js';

/** A command that replaces an existing file by a finished draft. */
const replacing = (args: string[], file: string, draft: string) => ({ name: args[0]!, args, file, draft });
type Case = ReturnType<typeof replacing>;

const EXPORT = replacing(['export', 'cookies', '--output', 'out.ndjson'], 'out.ndjson', 'draft');
const BACKUP = replacing(['backup', 'backup.sqlite'], 'backup.sqlite', 'draft.sqlite');
const RESTORE = replacing(['restore', 'backup.sqlite'], 'cookies.sqlite', 'draft.sqlite');
const CASES = [EXPORT, BACKUP, RESTORE];

describe('a command that replaces a file', () => {
  /** A storage of four cookies, with a backup and an export of three. */
  let stored: string;
  let folder: string;
  let calls: FileCalls | undefined;

  beforeAll(async () => {
    stored = await folderWith(lines(3), BACKUP.args, EXPORT.args);
    expect(await run(stored, ['import', 'cookies'], { input: lines(1, 4) })).toMatchObject({ code: 0 });
  });

  beforeEach(() => {
    folder = temporaryFolder();
    cpSync(stored, folder, { recursive: true });
  });

  const at = (name: string): string => join(folder, name);
  const files = (): string[] => readdirSync(folder).sort();

  const contentsOf = (file: string): number => {
    if (file.endsWith('.ndjson')) return readFileSync(at(file), 'utf8').split('\n').length - 1;
    return countsOf(folder, file).count;
  };

  const runWith = ({ args }: Case, fault?: FileFault): Promise<Outcome> => {
    calls = new FileCalls(folder, fault);
    return calls.run(args);
  };

  it.each(CASES)('syncs the new file before it replaces the old one, and then its name: $name', async (command) => {
    const { file, draft } = command;
    expect(await runWith(command)).toMatchObject({ code: 0 });
    const ofTheFile = calls!.list().filter((call) => /^(sync|rename) /.test(call));
    expect(ofTheFile.slice(-3)).toEqual([`sync ${draft}`, `rename ${draft} ${file}`, 'sync .']);
  });

  it.each(CASES)(
    'leaves everything unchanged, and reports it, when the new file cannot replace the old one: $name',
    async (command) => {
      const { file, draft } = command;
      const filesBefore = files();
      const contents = contentsOf(file);
      const { code, stderr } = await runWith(command, { at: `rename ${draft} ${file}`, what: 'EIO' });
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('EIO: i/o error') });
      expect(stderr).not.toMatch(/^(Exported|Backed up|Restored)/m);
      expect(files()).toEqual(filesBefore);
      expect(contentsOf(file)).toEqual(contents);
    },
  );

  it.each(CASES)('warns when the new name cannot be synced: $name', async (command) => {
    const { code, stderr } = await runWith(command, { at: 'sync .', what: 'EIO' });
    const warning = /^Warning: after a power cut \S+ may be as it was before \(EIO: .*\)\. Check the disk\.$/m;
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(warning) });
    expect(contentsOf(command.file)).toBe(command === RESTORE ? 3 : 4);
  });

  it.each([
    { ...BACKUP, fault: `copy ${BACKUP.draft}`, says: /^There is no new backup: the copy fails the checks: / },
    {
      ...RESTORE,
      fault: 'close draft.sqlite',
      says: /^backup\.sqlite cannot be restored: .* The storage is as it was\.$/m,
    },
  ])('checks its copy, which a bad disk may have changed: $name', async ({ says, fault, ...command }) => {
    const [before, filesBefore] = [readFileSync(at(command.file)), files()];
    const { code, stderr } = await runWith(command, { at: fault, what: 'damaged' });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(says) });
    expect(readFileSync(at(command.file)).equals(before)).toBe(true);
    expect(files()).toEqual(filesBefore);
  });

  it.each([
    { ...EXPORT, fault: { at: `open ${EXPORT.draft}`, what: 'SIGINT' }, code: 130, stderr: 'Interrupted.\n' },
    { ...BACKUP, fault: { at: `copy ${BACKUP.draft}`, what: 'SIGINT' }, code: 130, stderr: 'Interrupted.\n' },
    { ...BACKUP, fault: { at: `copy ${BACKUP.draft}`, what: 'SIGHUP' }, code: 129, stderr: 'Interrupted.\n' },
    {
      ...RESTORE,
      fault: { at: `open ${RESTORE.draft}`, what: 'SIGTERM' },
      code: 143,
      stderr: 'Interrupted. The storage is as it was.\n',
    },
    {
      ...RESTORE,
      fault: { at: `sync ${RESTORE.draft}`, what: 'SIGINT' },
      code: 130,
      stderr: 'Interrupted. The storage is as it was.\n',
    },
  ] as const)(
    'leaves no new file when it is interrupted by $fault.what: $name',
    async ({ fault, code, stderr, ...command }) => {
      const [before, filesBefore] = [readFileSync(at(command.file)), files()];
      expect(await runWith(command, fault)).toEqual({ code, stdout: '', stderr });
      expect(readFileSync(at(command.file)).equals(before)).toBe(true);
      expect(files()).toEqual(filesBefore);
    },
  );

  it('ends on a second SIGINT where the first does not end it', async () => {
    const rename = `rename ${EXPORT.draft} ${EXPORT.file}`;
    calls = new FileCalls(folder, { at: rename, what: 'hangs' });
    const child = startCommand(folder, EXPORT.args, calls.environment);
    const outcome = outcomeOf(child);
    const rescue = setTimeout(() => child.kill('SIGKILL'), 100_000);
    await until(() => calls!.list().includes(rename), rename);
    for (const signal of ['SIGINT', 'SIGHUP'] as const) {
      child.kill(signal);
      await sleep(200);
    }
    expect(child.exitCode).toBeNull();
    child.kill('SIGINT');
    expect(await outcome).toMatchObject({ code: 130 });
    clearTimeout(rescue);
  });

  describe('while another program has locked the database', () => {
    let other: Database;

    beforeEach(() => {
      other = openDatabase(at('cookies.sqlite'));
      other.exec('BEGIN EXCLUSIVE');
    });

    afterEach(() => other.close());

    it('waits no longer than DATABASE_BUSY_TIMEOUT', async () => {
      const outcome = run(folder, EXPORT.args, { environment: { DATABASE_BUSY_TIMEOUT: '300' } });
      await expectEnd(outcome, 1, 'is locked by another process');
    });

    it.each([EXPORT.args, ['set', 'MAINTENANCE=true']])('ends on the first SIGINT: %s', async (...args) => {
      const child = startCommand(folder, args, { DATABASE_BUSY_TIMEOUT: '60000' });
      const outcome = outcomeOf(child);
      const mapped = () => readFileSync(`/proc/${child.pid}/maps`, 'utf8');
      await until(() => /better-sqlite3.*\.node$/m.test(mapped()), 'the command has loaded SQLite');
      child.kill('SIGINT');
      expect(await outcome).toEqual({ code: 130, stdout: '', stderr: 'Interrupted.\n' });
    });
  });

  it('leaves a complete storage at whatever step a restore is killed, and restores the next time', async () => {
    const steps: readonly (readonly [string, number])[] = [
      [`open ${RESTORE.draft}`, 4],
      ['link cookies.sqlite cookies.sqlite.before', 4],
      [`sync ${RESTORE.draft}`, 4],
      [`rename ${RESTORE.draft} ${RESTORE.file}`, 4],
      ['sync .', 3],
    ];
    for (const [step, count] of steps) {
      expect(await runWith(RESTORE, { at: step, what: 'SIGKILL' })).toMatchObject({ code: null });
      expect([step, files().filter((name) => /^cookies\.sqlite-(wal|shm)$/.test(name))]).toEqual([step, []]);
      expect([step, countsOf(folder)]).toEqual([step, { count, used: count }]);
    }
    expect(await run(folder, RESTORE.args)).toMatchObject({ code: 0 });
    expect(countsOf(folder)).toEqual({ count: 3, used: 3 });
  });

  it('keeps records in the WAL of a killed service in the old database, and gives the restored one no WAL', async () => {
    const killed = temporaryFolder();
    inDatabase(folder, (database) => {
      database.exec(`PRAGMA journal_mode = WAL; INSERT INTO cookies (flavor, size, wish)
        VALUES ('vanilla', 'small', 'only in the WAL')`);
      // The files as a kill leaves them, with a WAL that is not folded into the database.
      cpSync(folder, killed, { recursive: true });
    });
    expect(existsSync(join(killed, 'cookies.sqlite-wal'))).toBe(true);
    expect(await run(killed, RESTORE.args)).toMatchObject({ code: 0 });
    const aside = readdirSync(killed).filter((name) => name.includes('.before-'));
    expect(aside).toHaveLength(1);
    expect(readdirSync(killed).filter((name) => /-(wal|shm)$/.test(name))).toEqual([]);
    expect(countsOf(killed, aside[0])).toEqual({ used: 5, count: 5 });
    expect(countsOf(killed)).toEqual({ count: 3, used: 3 });
  });
});
