import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { backupName } from '../../src/management/backup-files.js';
import { makeHostile } from './hostile-changes.js';
import { FileCalls, type FileFault } from '../support/faults/file-calls.js';
import { SmallVolume } from '../support/faults/small-volume.js';
import { countsOf, folderWith, inDatabase, lines, outcomeOf, run, startCommand } from '../support/command.js';
import { until } from '../support/until.js';
import { expectEnd } from './ended-with.js';

const NAME = /^cookies-\d{8}T\d{6}Z\.sqlite$/;
const HOUR = 3600 * 1000;

describe('cli backup --to', () => {
  let folder: string;
  const started: ChildProcess[] = [];

  beforeEach(async () => {
    folder = await folderWith(lines(3));
    mkdirSync(at());
  });

  afterEach(() => started.forEach((child) => child.kill('SIGKILL')));

  const at = (...names: string[]): string => join(folder, 'backups', ...names);
  const files = (): string[] => readdirSync(at()).sort();
  const backup = (...args: string[]) => run(folder, ['backup', '--to', 'backups', ...args]);
  const setUsed = (used: number) =>
    inDatabase(folder, (database) =>
      database.prepare("UPDATE storage SET used = ? WHERE resource = 'cookies'").run(used),
    );

  /** Starts a loop, and collects its lines. */
  function loop(...args: string[]) {
    const child = startCommand(folder, ['backup', '--to', 'backups', ...args]);
    started.push(child);
    const seen = { child, stderr: '', outcome: outcomeOf(child) };
    child.stderr!.on('data', (text: string) => (seen.stderr += text));
    return seen;
  }

  it('makes a private file with a name in UTC that can be restored', async () => {
    const before = Math.floor(Date.now() / 1000) * 1000;
    const { code, stderr } = await backup();
    const [name, ...others] = files();
    expect({ code, others }).toEqual({ code: 0, others: [] });
    expect(stderr).toMatch(/^Backed up 3 cookies to backups\/cookies-\S+ \(\d+ bytes\), and checked it\.\n$/);
    expect(statSync(at(name!)).mode & 0o777).toBe(0o600);
    expect(name! >= backupName(before) && name! <= backupName(Date.now())).toBe(true);
    await run(folder, ['import', 'cookies'], { input: lines(1, 4) });
    expect(await run(folder, ['restore', at(name!)])).toMatchObject({ code: 0 });
    expect(countsOf(folder)).toEqual({ count: 3, used: 3 });
  });

  it('makes no backup of a database that restore would reject, and leaves the others', async () => {
    await backup();
    const before = files();
    setUsed(4);
    await expectEnd(backup('--keep', '1h'), 1, 'counts 4 cookies and holds 3');
    setUsed(3);
    inDatabase(folder, (database) => makeHostile(database, 'an empty wish'));
    const outcome = backup();
    await expectEnd(
      outcome,
      1,
      /its record 2 could not be stored by a request: .*; change it, or use --skip-record-check/,
    );
    expect(files()).toEqual(before);
    expect(await backup('--skip-record-check')).toMatchObject({ code: 0 });
    expect(files()).toHaveLength(2);
  });

  it('removes only its own files, and only after a new backup', async () => {
    const now = Date.now();
    const own = Array.from({ length: 50 }, (_, index) => backupName(now - (index + 1) * HOUR));
    const future = backupName(now + 5 * HOUR);
    const foreign = ['cookies.sqlite', 'cookies-20261399T000000Z.sqlite', `${own[40]}.xz`, `my-${own[41]}`, 'notes'];
    for (const name of [...own, ...foreign, future]) writeFileSync(at(name), 'x');
    // A folder with such a name is no backup.
    rmSync(at(own[45]!));
    mkdirSync(at(own[45]!));
    await expectEnd(backup('--keep', '5h'), 0, 'Older ones removed: 45.');
    const made = files().filter((name) => statSync(at(name)).size > 1 && statSync(at(name)).isFile());
    expect(made).toHaveLength(1);
    expect(files()).toEqual([...own.slice(0, 4), own[45]!, ...foreign, future, ...made].sort());
  });

  it('packs with --gzip, counts packed and plain backups together, and doctor reads them', async () => {
    const now = Date.now();
    const own = Array.from({ length: 4 }, (_, index) => backupName(now - (index + 1) * HOUR));
    for (const [index, name] of own.entries()) writeFileSync(at(index % 2 ? name : `${name}.gz`), 'x');
    expect(await backup('--keep', '3h', '--gzip')).toMatchObject({ code: 0 });
    const [oldest, older, made, ...more] = files();
    expect([oldest, older, more]).toEqual([own[1], `${own[0]}.gz`, []]);
    expect(made).toMatch(/^cookies-\d{8}T\d{6}Z\.sqlite\.gz$/);
    expect(await run(folder, ['restore', '--verify', at(made!)])).toMatchObject({ code: 0 });
    const doctor = await run(folder, ['doctor'], { environment: { BACKUP_DIR: at() } });
    expect(doctor.stdout).toContain(made);
  });

  it('takes a free name when another process has made the backup of that second', async () => {
    const taken = Array.from({ length: 60 }, (_, index) => backupName(Date.now() + index * 1000));
    for (const name of taken) writeFileSync(at(name), 'of another process');
    expect(await backup()).toMatchObject({ code: 0 });
    expect(files()).toHaveLength(61);
    for (const name of taken) expect(readFileSync(at(name), 'utf8')).toBe('of another process');
  });

  const faulty = (fault: FileFault, ...args: string[]) =>
    new FileCalls(folder, fault).run(['backup', '--to', 'backups', ...args]);

  it.each([
    ['sync draft.sqlite', 'EIO', 1, /^There is no new backup: EIO/],
    ['copy draft.sqlite', 'SIGTERM', 143, /^Interrupted\.\n$/],
  ] as const)('leaves no backup after a fault at "%s": %s', async (call, what, code, message) => {
    const outcome = await faulty({ at: call, what });
    expect(outcome).toMatchObject({ code, stderr: expect.stringMatching(message) });
    expect(files().filter((name) => NAME.test(name))).toEqual([]);
    expect(await backup()).toMatchObject({ code: 0 });
    expect(files().filter((name) => !name.startsWith('.'))).toEqual([expect.stringMatching(NAME)]);
  });

  it('reads the packed file again, because a bad disk may have changed it', async () => {
    const outcome = faulty({ at: 'open draft.sqlite.gz', what: 'damaged' }, '--gzip');
    await expectEnd(outcome, 1, /^There is no new backup: (invalid|incorrect|unexpected)/);
    expect(files()).toEqual([]);
  });

  (SmallVolume.mountable ? it : it.skip)('names its full volume, and leaves the older backups', async () => {
    using volume = new SmallVolume();
    const good = join(volume.folder, backupName(Date.now() - HOUR));
    // Two copies fit, and the check of the second one needs more.
    writeFileSync(good, Buffer.alloc(220_000));
    const outcome = run(folder, ['backup', '--to', volume.folder, '--keep', '1h']);
    await expectEnd(
      outcome,
      1,
      /^There is no new backup: the volume of (\S+) is full \(\d{1,5} bytes are free on the volume of \1/,
    );
    expect(readdirSync(volume.folder).map((name) => join(volume.folder, name))).toEqual([good]);
  });

  describe('--every', () => {
    it('makes backups beside a second loop, and ends on SIGTERM with 0', async () => {
      const loops = [loop('--every', '1s'), loop('--every', '1s')];
      await until(() => loops.every(({ stderr }) => stderr.split('Backed up').length > 3), 'three backups of each');
      loops.forEach(({ child }) => child.kill('SIGTERM'));
      const outcomes = await Promise.all(loops.map(({ outcome }) => outcome));
      expect(outcomes.map(({ code }) => code)).toEqual([0, 0]);
      const said = outcomes.flatMap(({ stderr }) => [...stderr.matchAll(/to backups\/(\S+)/g)].map(([, name]) => name));
      expect(files()).toEqual(said.sort());
      for (const name of files()) expect(countsOf(at(), name)).toEqual({ count: 3, used: 3 });
    });

    it('continues after a failure with one line, and has the exit code of the last backup', async () => {
      setUsed(4);
      const seen = loop('--every', '1s');
      const failures = () => seen.stderr.split('counts 4').length - 1;
      await until(() => failures() > 1, 'two failures');
      setUsed(3);
      await until(() => files().some((name) => NAME.test(name)), 'a backup');
      const before = failures();
      setUsed(4);
      await until(() => failures() > before, 'another failure');
      seen.child.kill('SIGINT');
      const { code, stderr } = await seen.outcome;
      expect(code).toBe(1);
      for (const line of stderr.trimEnd().split('\n').slice(0, -1))
        expect(line).toMatch(/^(A new backup of|Backed up) /);
      expect(stderr).toMatch(/\nThe last backup failed\.\n$/);
      expect(files().filter((name) => !NAME.test(name))).toEqual([]);
    });

    it('removes its draft when SIGTERM comes during a backup', async () => {
      const { code, stderr } = await faulty({ at: 'copy draft.sqlite', what: 'SIGTERM' }, '--every', '1h');
      expect({ code, stderr, files: files() }).toEqual({ code: 0, stderr: '', files: [] });
    });
  });

  it('reports a missing folder and does not make it, because the disk may not be mounted', async () => {
    await expectEnd(run(folder, ['backup', '--to', 'nowhere']), 1, 'nowhere is no folder. Make it, or mount its disk');
    expect(existsSync(join(folder, 'nowhere'))).toBe(false);
  });
});
