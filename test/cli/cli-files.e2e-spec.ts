import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import {
  countsOf,
  folderWith,
  inDatabase,
  line,
  lines,
  type Outcome,
  outcomeOf,
  run,
  startCommand,
} from '../support/command.js';
import { Client, COOKIE, environmentIn, startService, temporaryFolder } from '../support/service.js';
import { canRunAsOrdinaryUser, ORDINARY_USER } from '../support/ordinary-user.js';
import { until } from '../support/until.js';
import { ServiceProcess } from '../support/service-process.js';

/** The id of another user, to whom only root can give files. */
const STRANGER = 65534;
const asRoot = ORDINARY_USER.uid !== undefined && canRunAsOrdinaryUser() ? it : it.skip;
const withDevices = canMakeDevices() ? it : it.skip;

let folder: string;

beforeEach(() => {
  folder = temporaryFolder();
});

const at = (...names: string[]): string => join(folder, ...names);
const store = async (text: string): Promise<void> => {
  expect(await run(folder, ['import', 'cookies'], { input: text })).toMatchObject({ code: 0 });
};
const remains = (): string[] => readdirSync(folder).filter((name) => /partial|restoring/.test(name));

function canMakeDevices(): boolean {
  const device = join(temporaryFolder(), 'null');
  return spawnSync('sh', ['-c', 'mknod "$0" c 1 3 && : > "$0"', device]).status === 0;
}

/** Whether a process has opened a file of the folder; then it has started, and catches signals. */
function hasOpened({ pid }: ChildProcess, file: string): boolean {
  return readdirSync(`/proc/${pid}/fd`).some((name) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${name}`) === at(file);
    } catch {
      // The descriptor was closed after the folder was read.
      return false;
    }
  });
}

/** Reads a FIFO in another process, because opening a FIFO waits for a writer. */
function reader(fifo: string): { child: ChildProcess; bytes: Promise<Buffer> } {
  const child = spawn('cat', [fifo]);
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  return { child, bytes: new Promise((resolve) => child.once('close', () => resolve(Buffer.concat(chunks)))) };
}

describe('the target of export and backup', () => {
  const COMMANDS = [
    ['export', ['export', 'cookies', '--output']],
    ['backup', ['backup']],
  ] as const;

  beforeEach(async () => {
    folder = await folderWith(lines(3));
  });

  const expectCookies = (name: string, bytes: Buffer): void => {
    if (name === 'export') return expect(bytes.toString()).toBe(lines(3));
    writeFileSync(at('written'), bytes);
    expect(countsOf(folder, 'written')).toEqual({ count: 3, used: 3 });
  };

  it.each(COMMANDS)('stays a FIFO, and its reader gets the output: %s', async (name, args) => {
    execFileSync('mkfifo', [at('fifo')]);
    const ended = outcomeOf(startCommand(folder, [...args, at('fifo')]));
    // The command waits for a reader.
    await sleep(500);
    const { bytes } = reader(at('fifo'));
    expect(await ended).toMatchObject({ code: 0 });
    expectCookies(name, await bytes);
    expect([lstatSync(at('fifo')).isFIFO(), remains()]).toEqual([true, []]);
  });

  it.each(COMMANDS)('is stdout if its name is "-": %s', async (name, args) => {
    const stdout = openSync(at('stdout'), 'w');
    const ended = outcomeOf(startCommand(folder, [...args, '-'], {}, stdout));
    closeSync(stdout);
    expect(await ended).toMatchObject({ code: 0 });
    expectCookies(name, readFileSync(at('stdout')));
    expect([existsSync(at('-')), remains()]).toEqual([false, []]);
  });

  it('is a FIFO without a reader: the command waits until it is interrupted', async () => {
    execFileSync('mkfifo', [at('fifo')]);
    const child = startCommand(folder, ['export', 'cookies', '--output', at('fifo')]);
    const outcome = outcomeOf(child);
    await until(() => hasOpened(child, 'cookies.sqlite'), 'the command opens the database');
    await sleep(300);
    expect(child.exitCode).toBeNull();
    child.kill('SIGINT');
    expect(await outcome).toMatchObject({ code: 130, stderr: 'Interrupted.\n' });
  });

  // The test makes its own device, so that a bug cannot remove a device of the machine.
  withDevices.each(COMMANDS)('stays a device, and its error is reported: %s', async (_name, args) => {
    execFileSync('mknod', [at('full'), 'c', '1', '7']);
    execFileSync('mknod', [at('null'), 'c', '1', '3']);
    expect(await run(folder, [...args, at('null')])).toMatchObject({ code: 0 });
    expect(await run(folder, [...args, at('full')])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/ENOSPC/),
    });
    expect(['full', 'null'].map((device) => lstatSync(at(device)).isCharacterDevice())).toEqual([true, true]);
    expect(remains()).toEqual([]);
  });

  it.each(COMMANDS)('stays a symbolic link, also to a missing file: %s', async (name, args) => {
    mkdirSync(at('elsewhere'));
    writeFileSync(at('elsewhere/old'), 'old', { mode: 0o640 });
    symlinkSync('elsewhere', at('folder'));
    for (const target of ['old', 'new']) {
      symlinkSync(join('folder', target), at(target));
      expect(await run(folder, [...args, at(target)])).toMatchObject({ code: 0 });
      expect([lstatSync(at(target)).isSymbolicLink(), readlinkSync(at(target))]).toEqual([true, `folder/${target}`]);
      expectCookies(name, readFileSync(at('elsewhere', target)));
    }
    expect(readdirSync(at('elsewhere')).sort()).toEqual(['new', 'old']);
    expect(statSync(at('elsewhere/old')).mode & 0o777).toBe(0o640);
  });

  it.each([
    ['a pipe', COMMANDS[1], (command: string) => `${command} | cat`],
    ['a file that is appended to', COMMANDS[0], (command: string) => `${command} >> log && cat log`],
  ] as const)('may be a link to stdout that is %s', (_what, [name, args], script) => {
    // A link like /dev/stdout, which a bug must not remove from the machine.
    symlinkSync('/proc/self/fd/1', at('stdout'));
    const command = [process.execPath, resolve('dist/src/cli/main.js'), ...args, at('stdout')];
    writeFileSync(at('log'), 'before\n');
    const text = execFileSync('sh', ['-c', script('"$@"'), 'sh', ...command], {
      cwd: folder,
      env: { PATH: process.env['PATH'], DATABASE_URL: `sqlite:${at('cookies.sqlite')}`, NODE_ENV: 'test' },
    });
    const before = name === 'export' ? 'before\n' : '';
    expect(text.subarray(0, before.length).toString()).toBe(before);
    expectCookies(name, text.subarray(before.length));
  });

  it.each(COMMANDS)('is never the database, under whatever name: %s', async (_name, args) => {
    symlinkSync('cookies.sqlite', at('link'));
    linkSync(at('cookies.sqlite'), at('hard'));
    const beside = ['-wal', '-shm', '-journal'].map((suffix) => `cookies.sqlite${suffix}`);
    symlinkSync('cookies.sqlite-journal', at('dangling'));
    for (const output of ['cookies.sqlite', 'link', 'hard', 'dangling', ...beside]) {
      const { code, stderr } = await run(folder, [...args, at(output)]);
      expect([code, stderr]).toEqual([2, expect.stringMatching(/is the database itself|belongs to the database/)]);
    }
    expect(await run(folder, [...args, folder])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('a folder'),
    });
    expect(countsOf(folder)).toEqual({ count: 3, used: 3 });
  });
});

describe('restore', () => {
  beforeEach(async () => {
    folder = await folderWith(lines(3), ['backup', 'backup.sqlite']);
  });

  const asides = (): string[] => readdirSync(folder).filter((name) => name.includes('.before-'));

  it('keeps only the database before the last restore', async () => {
    writeFileSync(at('cookies.sqlite.before-mine'), 'a file that somebody named so');
    await run(folder, ['restore', 'backup.sqlite']);
    const [first] = asides().filter((name) => !name.endsWith('mine'));
    writeFileSync(at(`${first}-wal`), '');
    const { code, stderr } = await run(folder, ['restore', 'backup.sqlite']);
    expect(code).toBe(0);
    expect(asides()).toHaveLength(2);
    expect(asides()).toEqual(expect.arrayContaining(['cookies.sqlite.before-mine']));
    expect(asides()).not.toContain(first);
    expect(stderr).toContain(`Removed ${at(first!)}, which an earlier restore had kept`);
  });

  it('warns of a backup with more cookies than the capacity', async () => {
    const environment = { COOKIES_CAPACITY: '2' };
    const { code, stderr } = await run(folder, ['restore', 'backup.sqlite'], { environment });
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /Warning: these are more than COOKIES_CAPACITY allows \(2\).*until .* 2 cookies are deleted/s,
    );
    expect((await run(folder, ['restore', 'backup.sqlite'])).stderr).not.toContain('Warning');
  });

  it('reads a pipe, and rejects one that ends too early', async () => {
    const backup = readFileSync(at('backup.sqlite'));
    expect(await run(folder, ['restore', '/dev/stdin'], { input: backup.subarray(0, 9000) })).toMatchObject({
      code: 1,
    });
    await store(lines(1, 4));
    expect(await run(folder, ['restore', '/dev/stdin'], { input: backup })).toMatchObject({ code: 0 });
    expect(countsOf(folder)).toEqual({ count: 3, used: 3 });
    expect(remains()).toEqual([]);
  });

  it('keeps a link to the database a link', async () => {
    mkdirSync(at('real'));
    execFileSync('mv', [at('cookies.sqlite'), at('real/cookies.sqlite')]);
    symlinkSync('real/cookies.sqlite', at('cookies.sqlite'));
    expect(await run(folder, ['restore', 'backup.sqlite'])).toMatchObject({ code: 0 });
    expect(readlinkSync(at('cookies.sqlite'))).toBe('real/cookies.sqlite');
    expect(readdirSync(at('real')).filter((name) => name.includes('.before-'))).toHaveLength(1);
    expect(countsOf(folder)).toEqual({ count: 3, used: 3 });
  });

  /** Runs a command as another user, who owns the folder. */
  const runAs = (uid: number, args: readonly string[]): Promise<Outcome> => {
    const child = spawn(process.execPath, [join(process.cwd(), 'dist/src/cli/main.js'), ...args], {
      cwd: folder,
      uid,
      env: {
        PATH: process.env['PATH'],
        DATABASE_URL: `sqlite:${at('cookies.sqlite')}`,
        NODE_ENV: 'production',
        JWT_SECRET: 'x'.repeat(16) + 'secret-of-a-test',
      },
    });
    return outcomeOf(child);
  };

  asRoot('names a user who cannot read the backup, and a user who cannot keep the owner', async () => {
    chmodSync(folder, 0o777);
    chmodSync(at('backup.sqlite'), 0o600);
    const unreadable = await runAs(STRANGER, ['restore', 'backup.sqlite']);
    expect(unreadable).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`cannot be read by the user ${STRANGER}`),
    });
    chmodSync(at('backup.sqlite'), 0o644);
    const unownable = await runAs(STRANGER, ['restore', 'backup.sqlite']);
    expect(unownable).toMatchObject({ code: 1, stderr: expect.stringContaining('belongs to the user 0') });
    expect([asides(), statSync(at('cookies.sqlite')).uid]).toEqual([[], 0]);
  });

  asRoot('as root gives the restored database the owner and mode of the old one', async () => {
    chownSync(at('cookies.sqlite'), STRANGER, 12_345);
    chmodSync(at('cookies.sqlite'), 0o640);
    expect(await run(folder, ['restore', 'backup.sqlite'])).toMatchObject({ code: 0 });
    const { uid, gid, mode } = statSync(at('cookies.sqlite'));
    expect([uid, gid, mode & 0o777]).toEqual([STRANGER, 12_345, 0o640]);
  });
});

describe('commands that root runs beside a service of another user', () => {
  const ownersIn = (name: string): Record<string, number> =>
    Object.fromEntries(readdirSync(at(name)).map((file) => [file, statSync(at(name, file)).uid]));

  asRoot('leave no file that it cannot write: import, export, backup, doctor, token, restore', async () => {
    const environment = {
      DATABASE_URL: `sqlite:${at('volume/data/cookies.sqlite')}`,
      NODE_ENV: 'development',
      JWT_SECRET: undefined,
    };
    chmodSync(folder, 0o755);
    mkdirSync(at('volume'));
    chownSync(at('volume'), STRANGER, STRANGER);
    for (const [args, input] of [
      [['import', 'cookies'], lines(2)],
      [['export', 'cookies', '--output', at('volume/data/out.ndjson')]],
      [['backup', at('volume/data/backup.sqlite')]],
      [['backup', '--to', at('volume/data')]],
      [['token', '--sub', 'alice']],
      [['doctor']],
      [['restore', at('volume/data/backup.sqlite')]],
    ] as const) {
      expect(await run(folder, args, { environment, input })).toMatchObject({ code: 0 });
      const owners = { ...ownersIn('volume'), ...ownersIn('volume/data') };
      expect([args[0], owners]).toEqual([
        args[0],
        Object.fromEntries(Object.keys(owners).map((file) => [file, STRANGER])),
      ]);
    }
    await using service = await ServiceProcess.start(folder, environment, { uid: STRANGER });
    const secret = readFileSync(at('volume/data/jwt-secret'), 'utf8');
    expect((await (await Client.of(service, { secret })).post(COOKIE)).status).toBe(201);
  });
});

asRoot('backup names the owners of a database that its user may not read', async () => {
  folder = await folderWith(lines(2));
  chmodSync(folder, 0o777);
  const env = { PATH: process.env['PATH'], ...environmentIn(folder, { NODE_ENV: 'production' }) };
  const args = [resolve('dist/src/cli/main.js'), 'backup', at('backup.sqlite')];
  const { status, stderr } = spawnSync(process.execPath, args, {
    cwd: folder,
    env,
    encoding: 'utf8',
    ...ORDINARY_USER,
  });
  expect(status).toBe(1);
  expect(stderr).toMatch(/no new backup: .*cookies\.sqlite is of 0:0 with mode 600; this process runs as 65534:65534/);
});

describe('an import after a move', () => {
  /** The id that a service gives next on the database in the folder `new`. */
  const nextId = async (): Promise<number> => {
    await using service = await startService({ DATABASE_URL: `sqlite:${at('new/cookies.sqlite')}` });
    return (await (await Client.of(service)).post(COOKIE)).body.id;
  };

  it.each([[[]], [['--atomic']]])('never gives an id that the old storage has given (%j)', async (options) => {
    await store(lines(5));
    inDatabase(folder, (db) => db.exec('DELETE FROM cookies WHERE id > 3'));
    const exported = await run(folder, ['export', 'cookies', '--output', 'out.ndjson']);
    expect(exported).toMatchObject({ code: 0, stderr: expect.stringContaining('Exported 3 cookies') });
    expect(readFileSync(at('out.ndjson'), 'utf8')).toBe(`${lines(3)}{"lastId":5}\n`);
    mkdirSync(at('new'));
    const imported = await run(at('new'), ['import', 'cookies', at('out.ndjson'), ...options]);
    expect(imported).toMatchObject({ code: 0, stderr: expect.stringContaining('Imported 3 cookies') });
    // The checksums are equal, because the `lastId` line is no cookie.
    const sums = [exported, imported].map(({ stderr }) => /3 cookies, sha256 [0-9a-f]{64}/.exec(stderr)?.[0]);
    expect(sums[1]).toBe(sums[0]);
    expect((await run(at('new'), ['export', 'cookies'])).stdout).toBe(`${lines(3)}{"lastId":5}\n`);
    expect(await nextId()).toBe(6);
  });

  it('uses the last id of an empty storage, but not with --ids assign', async () => {
    await store('{"lastId":9}\n');
    expect((await run(folder, ['export', 'cookies'])).stdout).toBe('{"lastId":9}\n');
    mkdirSync(at('new'));
    expect(
      await run(at('new'), ['import', 'cookies', '--ids', 'assign'], { input: `${lines(1, 7)}{"lastId":9}` }),
    ).toMatchObject({
      code: 0,
    });
    expect(await nextId()).toBe(2);
  });

  it('reports a last id that other lines follow, or that is no valid id', async () => {
    for (const [input, reason] of [
      [`{"lastId":9}\n${lines(1)}`, 'Line 2 is wrong: it comes after "lastId"'],
      ['{"lastId":9007199254740992}\n', 'Line 1 is wrong'],
      ['{"lastId":"9"}\n', 'Line 1 is wrong'],
    ] as const) {
      expect(await run(folder, ['import', 'cookies'], { input })).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(reason),
      });
    }
  });

  it('has no last id when only some cookies are exported', async () => {
    await store(`${lines(2)}{"lastId":9}\n`);
    for (const args of [
      ['--limit', '5'],
      ['--after', '1'],
      ['--size', 'small'],
    ]) {
      expect((await run(folder, ['export', 'cookies', ...args])).stdout).not.toContain('lastId');
    }
  });
});

describe('import of a gzip file', () => {
  it('reads a file and stdin, also with several gzip members', async () => {
    writeFileSync(at('in.ndjson.gz'), Buffer.concat([gzipSync(lines(1500)), gzipSync(lines(10, 1501))]));
    expect(await run(folder, ['import', 'cookies', 'in.ndjson.gz'])).toMatchObject({ code: 0 });
    expect(await run(folder, ['import', 'cookies'], { input: gzipSync(lines(2, 2000)) })).toMatchObject({ code: 0 });
    expect(countsOf(folder)).toEqual({ count: 1512, used: 1512 });
  });

  it('reports a file that ends too early, and stores nothing of it', async () => {
    const whole = gzipSync(lines(500));
    writeFileSync(at('in.ndjson.gz'), whole.subarray(0, whole.length - 20));
    const { code, stderr } = await run(folder, ['import', 'cookies', 'in.ndjson.gz']);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/in\.ndjson\.gz cannot be read: unexpected end of file/)]);
    expect(countsOf(folder)).toEqual({ count: 0, used: 0 });
    expect(existsSync(at('in.ndjson.gz'))).toBe(true);
  });

  it('reads the packed output of export, and continues after an interrupt', async () => {
    await store(lines(1500));
    const { code, stderr } = await run(folder, ['export', 'cookies', '--output', 'out.ndjson.gz']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('Exported 1500 cookies, sha256 ') });
    expect(gunzipSync(readFileSync(at('out.ndjson.gz'))).toString()).toBe(lines(1500));
    expect(remains()).toEqual([]);
    mkdirSync(at('new'));
    const inNew = (...args: string[]) => run(at('new'), ['import', 'cookies', ...args]);
    const broken = lines(1200) + line({ id: 1201, size: 'tiny' });
    expect(await run(at('new'), ['import', 'cookies'], { input: gzipSync(broken) })).toMatchObject({ code: 1 });
    expect(await inNew('--resume', at('out.ndjson.gz'))).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('Imported 500 cookies'),
    });
    expect((await run(at('new'), ['export', 'cookies'])).stdout).toBe(lines(1500));
  });
});
