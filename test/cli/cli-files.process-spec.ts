import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import { join, resolve } from 'node:path';
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
import { SmallVolume } from '../support/faults/small-volume.js';
import { canRunAsOrdinaryUser, ORDINARY_USER } from '../support/ordinary-user.js';
import { ServiceProcess } from '../support/service-process.js';
import { endedWith, expectEnd } from './ended-with.js';

/** The id of another user, to whom only root can give files. */
const STRANGER = 65534;
const onVolume = SmallVolume.mountable ? it : it.skip;
const asRoot = ORDINARY_USER.uid !== undefined && canRunAsOrdinaryUser() ? it : it.skip;

let folder: string;

beforeEach(() => {
  folder = temporaryFolder();
});

const at = (...names: string[]): string => join(folder, ...names);
const store = async (text: string): Promise<void> => {
  expect(await run(folder, ['import', 'cookies'], { input: text })).toMatchObject({ code: 0 });
};
const verifyAsOrdinaryUser = (file: string, stdin: number | 'pipe' = 'pipe'): Promise<Outcome> => {
  const env = { PATH: process.env['PATH'], ...environmentIn(folder, { NODE_ENV: 'production' }) };
  const command = [resolve('dist/src/cli/main.js'), 'restore', '--verify', file];
  const options = { cwd: folder, env, ...ORDINARY_USER };
  return outcomeOf(spawn(process.execPath, command, { ...options, stdio: [stdin, 'pipe', 'pipe'] }));
};
const remains = (): string[] => fs.readdirSync(folder).filter((name) => /partial|restoring/.test(name));

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
    fs.writeFileSync(at('written'), bytes);
    expect(countsOf(folder, 'written')).toEqual({ count: 3, used: 3 });
  };

  it.each(COMMANDS)('is never a FIFO or a device: %s', async (_name, args) => {
    execFileSync('mkfifo', [at('fifo')]);
    for (const output of [at('fifo'), '/dev/null']) {
      const reason = `${output} is a FIFO, socket or device; name a file, or "-" for stdout\n`;
      expect(await run(folder, [...args, output])).toEqual({ stdout: '', ...endedWith(2, reason) });
    }
    expect([fs.lstatSync(at('fifo')).isFIFO(), remains()]).toEqual([true, []]);
  });

  it.each(COMMANDS)('is stdout if its name is "-": %s', async (name, args) => {
    const stdout = fs.openSync(at('stdout'), 'w');
    const ended = outcomeOf(startCommand(folder, [...args, '-'], {}, stdout));
    fs.closeSync(stdout);
    expect(await ended).toMatchObject({ code: 0 });
    expectCookies(name, fs.readFileSync(at('stdout')));
    expect([fs.existsSync(at('-')), remains()]).toEqual([false, []]);
  });

  onVolume.each(COMMANDS)('leaves nothing beside the database if stdout is full: %s', async (_name, args) => {
    using volume = new SmallVolume();
    const stdout = fs.openSync(join(volume.folder, 'stdout'), 'w');
    volume.occupy();
    const ended = outcomeOf(startCommand(folder, [...args, '-'], {}, stdout));
    fs.closeSync(stdout);
    expect(await ended).toMatchObject({ code: 1, stderr: expect.stringContaining('ENOSPC') });
    expect(remains()).toEqual([]);
  });

  it.each(COMMANDS)('stays a symbolic link, which must not lead to a missing file: %s', async (name, args) => {
    fs.mkdirSync(at('elsewhere'));
    fs.writeFileSync(at('elsewhere/old'), 'old', { mode: 0o640 });
    fs.symlinkSync('elsewhere', at('folder'));
    for (const target of ['old', 'new']) fs.symlinkSync(join('folder', target), at(target));
    expect(await run(folder, [...args, at('old')])).toMatchObject({ code: 0 });
    expect([fs.lstatSync(at('old')).isSymbolicLink(), fs.readlinkSync(at('old'))]).toEqual([true, 'folder/old']);
    expectCookies(name, fs.readFileSync(at('elsewhere/old')));
    const dangling = await run(folder, [...args, at('new')]);
    expect(dangling).toMatchObject(endedWith(2, 'new is a link to a missing file; name the file itself'));
    expect(fs.readdirSync(at('elsewhere'))).toEqual(['old']);
    expect(fs.statSync(at('elsewhere/old')).mode & 0o777).toBe(0o640);
  });

  it.each(COMMANDS)('is rejected in a folder that is missing or no folder: %s', async (_name, args) => {
    const missing = await run(folder, [...args, 'nowhere/file']);
    expect(missing).toMatchObject(endedWith(1, 'the folder nowhere does not exist'));
    await expectEnd(run(folder, [...args, 'nowhere/']), 2, 'nowhere/ is a folder; name a file');
    const wrong = await run(folder, [...args, '/proc/self/file']);
    expect(wrong).toMatchObject(endedWith(1, /the folder \/proc\/\d+ cannot be written: /));
  });

  it.each([
    ['a pipe', COMMANDS[1], (command: string) => `${command} | cat`],
    ['a file that is appended to', COMMANDS[0], (command: string) => `${command} >> log && cat log`],
  ] as const)('may be stdout that is %s', (_what, [name, args], script) => {
    const command = [process.execPath, resolve('dist/src/cli/main.js'), ...args, '/dev/stdout'];
    fs.writeFileSync(at('log'), 'before\n');
    const text = execFileSync('sh', ['-c', script('"$@"'), 'sh', ...command], {
      cwd: folder,
      env: { PATH: process.env['PATH'], DATABASE_URL: `sqlite:${at('cookies.sqlite')}`, NODE_ENV: 'test' },
    });
    const before = name === 'export' ? 'before\n' : '';
    expect(text.subarray(0, before.length).toString()).toBe(before);
    expectCookies(name, text.subarray(before.length));
  });

  it.each(COMMANDS)('is never the database, under whatever name: %s', async (_name, args) => {
    fs.symlinkSync('cookies.sqlite', at('link'));
    fs.linkSync(at('cookies.sqlite'), at('hard'));
    const beside = ['-reserve', '-wal', '-shm', '-journal'].map((suffix) => `cookies.sqlite${suffix}`);
    for (const output of ['cookies.sqlite', 'link', 'hard', ...beside]) {
      const { code, stderr } = await run(folder, [...args, at(output)]);
      expect([code, stderr]).toEqual([2, expect.stringMatching(/is the database itself|belongs to the database/)]);
    }
    await expectEnd(run(folder, [...args, folder]), 2, 'a folder');
    expect(countsOf(folder)).toEqual({ count: 3, used: 3 });
  });
});

describe('restore', () => {
  beforeEach(async () => {
    folder = await folderWith(lines(3), ['backup', 'backup.sqlite']);
  });

  const asides = (): string[] => fs.readdirSync(folder).filter((name) => name.includes('.before-'));

  it('keeps the databases before each restore, until the operator removes them', async () => {
    for (let time = 0; time < 2; time++) await run(folder, ['restore', 'backup.sqlite']);
    expect(asides()).toHaveLength(2);
    for (const aside of asides()) expect(countsOf(folder, aside)).toEqual({ count: 3, used: 3 });
  });

  it('reads a pipe, and rejects one that ends too early', async () => {
    const backup = fs.readFileSync(at('backup.sqlite'));
    const cut = await run(folder, ['restore', '-'], { input: backup.subarray(0, 9000) });
    expect(cut).toMatchObject({ code: 1 });
    await store(lines(1, 4));
    expect(await run(folder, ['restore', '-'], { input: backup })).toMatchObject({ code: 0 });
    expect(countsOf(folder)).toEqual({ count: 3, used: 3 });
    expect(remains()).toEqual([]);
  });

  it('keeps a link to the database a link', async () => {
    fs.mkdirSync(at('real'));
    execFileSync('mv', [at('cookies.sqlite'), at('real/cookies.sqlite')]);
    fs.symlinkSync('real/cookies.sqlite', at('cookies.sqlite'));
    expect(await run(folder, ['restore', 'backup.sqlite'])).toMatchObject({ code: 0 });
    expect(fs.readlinkSync(at('cookies.sqlite'))).toBe('real/cookies.sqlite');
    expect(fs.readdirSync(at('real')).filter((name) => name.includes('.before-'))).toHaveLength(1);
    expect(countsOf(folder)).toEqual({ count: 3, used: 3 });
  });

  asRoot('names a user who may not open the backup, and reads it from stdin', async () => {
    fs.chmodSync(folder, 0o777);
    fs.chmodSync(at('backup.sqlite'), 0o600);
    const outcome = verifyAsOrdinaryUser('backup.sqlite');
    await expectEnd(
      outcome,
      1,
      /backup\.sqlite cannot be read: permission denied .*this process runs as 65534.*write it\.\n$/,
    );
    const stdin = fs.openSync(at('backup.sqlite'), 'r');
    expect(await verifyAsOrdinaryUser('/dev/stdin', stdin)).toMatchObject({ code: 0 });
    fs.closeSync(stdin);
  });

  asRoot('as root gives the restored database the owner and mode of the old one', async () => {
    fs.chownSync(at('cookies.sqlite'), STRANGER, 12_345);
    fs.chmodSync(at('cookies.sqlite'), 0o640);
    expect(await run(folder, ['restore', 'backup.sqlite'])).toMatchObject({ code: 0 });
    const { uid, gid, mode } = fs.statSync(at('cookies.sqlite'));
    expect([uid, gid, mode & 0o777]).toEqual([STRANGER, 12_345, 0o640]);
  });
});

describe('commands that root runs beside a service of another user', () => {
  const filesOfOthersIn = (name: string): string[] =>
    fs.readdirSync(at(name)).filter((file) => fs.statSync(at(name, file)).uid !== STRANGER);

  asRoot('leave no file that it cannot write: import, export, backup, doctor, token, restore', async () => {
    const environment = {
      DATABASE_URL: `sqlite:${at('volume/data/cookies.sqlite')}`,
      NODE_ENV: 'development',
      JWT_SECRET: undefined,
    };
    fs.chmodSync(folder, 0o755);
    fs.mkdirSync(at('volume'));
    fs.chownSync(at('volume'), STRANGER, STRANGER);
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
      const foreign = ['volume', 'volume/data'].flatMap((name) => filesOfOthersIn(name));
      expect([args[0], foreign]).toEqual([args[0], []]);
    }
    await using service = await ServiceProcess.start(folder, environment, { uid: STRANGER });
    const secret = fs.readFileSync(at('volume/data/jwt-secret'), 'utf8');
    expect((await Client.of(service, { secret }).post(COOKIE)).status).toBe(201);
  });
});

describe('an import after a move', () => {
  /** The id that a service gives next on the database in the folder `new`. */
  const nextId = async (): Promise<number> => {
    await using service = await startService({ DATABASE_URL: `sqlite:${at('new/cookies.sqlite')}` });
    return (await Client.of(service).post(COOKIE)).body.id;
  };

  it.each([[[]], [['--atomic']]])('never gives an id that the old storage has given (%j)', async (options) => {
    await store(lines(5));
    inDatabase(folder, (db) => db.exec('DELETE FROM cookies WHERE id > 3'));
    const exported = await run(folder, ['export', 'cookies', '--output', 'out.ndjson']);
    expect(exported).toMatchObject(endedWith(0, 'Exported 3 cookies'));
    expect(fs.readFileSync(at('out.ndjson'), 'utf8')).toBe(`${lines(3)}{"lastId":5}\n`);
    fs.mkdirSync(at('new'));
    const imported = await run(at('new'), ['import', 'cookies', at('out.ndjson'), ...options]);
    expect(imported).toMatchObject(endedWith(0, 'Imported 3 cookies'));
    // The checksums are equal, because the `lastId` line is no cookie.
    const sums = [exported, imported].map(({ stderr }) => /3 cookies, sha256 [0-9a-f]{64}/.exec(stderr)?.[0]);
    expect(sums[1]).toBe(sums[0]);
    expect((await run(at('new'), ['export', 'cookies'])).stdout).toBe(`${lines(3)}{"lastId":5}\n`);
    expect(await nextId()).toBe(6);
  });

  it('uses the last id of an empty storage, but not with --ids assign', async () => {
    await store('{"lastId":9}\n');
    expect((await run(folder, ['export', 'cookies'])).stdout).toBe('{"lastId":9}\n');
    fs.mkdirSync(at('new'));
    const input = `${lines(1, 7)}{"lastId":9}`;
    expect(await run(at('new'), ['import', 'cookies', '--ids', 'assign'], { input })).toMatchObject({ code: 0 });
    expect(await nextId()).toBe(2);
  });

  it('reports a last id that other lines follow, or that is no valid id', async () => {
    for (const [input, reason] of [
      [`{"lastId":9}\n${lines(1)}`, 'Line 2 is wrong: it comes after "lastId"'],
      ['{"lastId":9007199254740992}\n', 'Line 1 is wrong'],
      ['{"lastId":"9"}\n', 'Line 1 is wrong'],
    ] as const) {
      await expectEnd(run(folder, ['import', 'cookies'], { input }), 1, reason);
    }
  });
});

it.each(['import cookies', 'restore'])('%s of a missing file or a folder makes nothing', async (command) => {
  const environment = { DATABASE_URL: `sqlite:${at('data/cookies.sqlite')}` };
  for (const [input, message] of [
    [at('missing'), 'missing cannot be read: ENOENT'],
    [folder, `${folder} cannot be read: it is a folder.`],
  ] as const) {
    const outcome = await run(folder, [...command.split(' '), input], { environment });
    expect(outcome).toMatchObject(endedWith(1, message));
  }
  expect(fs.readdirSync(folder)).toEqual([]);
});

describe('import of a gzip file', () => {
  it('reads a file and stdin, also with several gzip members', async () => {
    fs.writeFileSync(at('in.ndjson.gz'), Buffer.concat([gzipSync(lines(1500)), gzipSync(lines(10, 1501))]));
    expect(await run(folder, ['import', 'cookies', 'in.ndjson.gz'])).toMatchObject({ code: 0 });
    expect(await run(folder, ['import', 'cookies'], { input: gzipSync(lines(2, 2000)) })).toMatchObject({ code: 0 });
    expect(countsOf(folder)).toEqual({ count: 1512, used: 1512 });
  });

  it('reports a file that ends too early, and stores nothing of it', async () => {
    const whole = gzipSync(lines(500));
    fs.writeFileSync(at('in.ndjson.gz'), whole.subarray(0, whole.length - 20));
    const importAll = () => run(folder, ['import', 'cookies', 'in.ndjson.gz']);
    await expectEnd(importAll(), 1, 'in.ndjson.gz cannot be read: unexpected end of file');
    fs.writeFileSync(at('in.ndjson.gz'), '');
    await expectEnd(importAll(), 1, 'in.ndjson.gz cannot be read: it is empty');
    expect(countsOf(folder)).toEqual({ count: 0, used: 0 });
    expect(fs.existsSync(at('in.ndjson.gz'))).toBe(true);
  });

  it('reads the packed output of export, and continues after an interrupt', async () => {
    await store(lines(1500));
    const exported = await run(folder, ['export', 'cookies', '--output', 'out.ndjson.gz']);
    expect(exported).toMatchObject(endedWith(0, 'Exported 1500 cookies, sha256 '));
    expect(gunzipSync(fs.readFileSync(at('out.ndjson.gz'))).toString()).toBe(lines(1500));
    expect(remains()).toEqual([]);
    fs.mkdirSync(at('new'));
    const inNew = (...args: string[]) => run(at('new'), ['import', 'cookies', ...args]);
    const broken = lines(1200) + line({ id: 1201, size: 'tiny' });
    expect(await run(at('new'), ['import', 'cookies'], { input: gzipSync(broken) })).toMatchObject({ code: 1 });
    await expectEnd(inNew('--resume', at('out.ndjson.gz')), 0, 'Imported 500 cookies');
    expect((await run(at('new'), ['export', 'cookies'])).stdout).toBe(lines(1500));
  });
});
