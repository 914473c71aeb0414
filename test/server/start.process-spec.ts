import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { type AddressInfo, createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import type { Environment } from '../../src/config/config.js';
import { openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import { explainStartError } from '../../src/server/start-error.js';
import { outcomeOf, run, startCommand } from '../support/command.js';
import { metricsOf } from '../support/metrics.js';
import { Client, environmentIn, startService, temporaryFolder } from '../support/service.js';
import { connected } from '../support/raw-http.js';
import { preloaded, withProvider } from '../support/faults/preloaded.js';
import { SmallVolume } from '../support/faults/small-volume.js';
import { canRunAsOrdinaryUser, ORDINARY_USER } from '../support/ordinary-user.js';
import { until } from '../support/until.js';
import { workersOf } from '../support/workers/workers.js';
import { ServiceProcess } from '../support/service-process.js';

const { version } = JSON.parse(readFileSync(resolve('package.json'), 'utf8')) as { version: string };
const hasOrdinaryUser = canRunAsOrdinaryUser();
const asRoot = ORDINARY_USER.uid !== undefined && hasOrdinaryUser ? it : it.skip;
const onVolume = SmallVolume.mountable ? it : it.skip;

/** Exists since Node 22.14. */
const { setSourceMapsSupport } = nodeModule as { setSourceMapsSupport?: unknown };

const THROWS_AT_THE_FIRST_OUTPUT = `
  const { write } = process.stdout;
  process.stdout.write = () => {
    process.stdout.write = write;
    console.error(new Error('thrown for its stack').stack);
    return true;
  };
  Error.stackTraceLimit = 50;`;

let folder: string;

beforeEach(() => {
  folder = temporaryFolder();
  if (ORDINARY_USER.uid !== undefined) chownSync(folder, ORDINARY_USER.uid, ORDINARY_USER.uid);
});

/** Returns the message of a start that fails for any user, which runs faster in this process. */
async function problemOfStart(place = folder, environment: Environment = {}): Promise<unknown> {
  const DATABASE_URL = `sqlite:${join(place, 'cookies.sqlite')}`;
  const [start] = await Promise.allSettled([startService({ DATABASE_URL, LOG_LEVEL: 'silent', ...environment })]);
  return start.status === 'rejected' ? explainStartError(start.reason) : 'It has started';
}

/** Returns the output of a start that fails for an ordinary user. */
async function failedStart(environment: Environment = {}, place = folder): Promise<string> {
  const service = ServiceProcess.spawn(place, environment, ORDINARY_USER);
  expect(await service.exit()).toBe(1);
  expect(service.output).not.toMatch(/^ +at /m);
  return service.output;
}

/** The `FAIL` lines of `doctor` as an ordinary user. */
function failuresOfOrdinaryDoctor(place = folder): string {
  const env = { PATH: process.env['PATH'], ...environmentIn(place, { NODE_ENV: 'production' }) };
  const args = [resolve('dist/src/cli/main.js'), 'doctor'];
  return failuresIn(spawnSync(process.execPath, args, { cwd: place, env, encoding: 'utf8', ...ORDINARY_USER }).stdout);
}

/** The `FAIL` lines of `doctor`, which runs faster as this user. */
const failuresOfDoctor = async (place = folder, environment: Environment = {}): Promise<string> =>
  failuresIn((await run(place, ['doctor'], { environment })).stdout);

function failuresIn(stdout: string): string {
  const lines = stdout.split('\n').filter((line) => line.startsWith('FAIL'));
  expect(lines).not.toEqual([]);
  return lines.join('\n');
}

function makeDatabase(sql = 'CREATE TABLE things (name)'): string {
  const file = join(folder, 'cookies.sqlite');
  openDatabase(file).exec(sql).close();
  return file;
}

describe('a start that fails, and doctor', () => {
  asRoot('name the owner if the database file belongs to another user', async () => {
    chmodSync(makeDatabase(), 0o600);
    const owners = /cookies\.sqlite is of 0:0 with mode 600.*this process runs as 65534:/;
    expect(await failedStart()).toMatch(owners);
    const failures = failuresOfOrdinaryDoctor();
    expect(failures).toMatch(owners);
    expect(failures).not.toMatch(/restore|remove|delete/);
  });

  asRoot('name the folder that may not be written, and do not report the port', async () => {
    mkdirSync(join(folder, 'closed'), { mode: 0o755 });
    const closed = join(folder, 'closed');
    const output = await failedStart({ NODE_ENV: 'development', JWT_SECRET: undefined }, closed);
    expect(output).toMatch(/closed.*(permission|right|write)/);
    expect(output).toMatch(/closed is of 0:0 with mode 755/);
    expect(output).not.toContain('cannot listen');
    expect(failuresOfOrdinaryDoctor(closed)).toMatch(
      /volume writable +.*closed cannot be written: permission denied.*0:0/,
    );
  });

  // Node 20 reads many files at the same time, and newer versions one after the other.
  (process.version.startsWith('v20.') ? it : it.skip)('name the limit of open files if it is too low', () => {
    const start = ['-c', 'ulimit -n 64; exec "$0" "$1"', process.execPath, resolve('dist/src/main.js')];
    const { status, stderr } = spawnSync('sh', start, { env: environmentIn(folder), encoding: 'utf8' });
    const message = 'The service cannot start: the limit of open files is too low. Raise it (`ulimit -n`) to 1024.\n';
    expect({ status, stderr }).toEqual({ status: 1, stderr: message });
  });

  it('end where no folder can be made, such as in /proc', async () => {
    const environment = { DATABASE_URL: 'sqlite:/proc/missing/cookies.sqlite' };
    expect(await problemOfStart(folder, environment)).toContain("mkdir '/proc/missing'");
    expect(await failuresOfDoctor(folder, environment)).toMatch(/volume writable +\/proc cannot be written/);
  });

  asRoot('leave nothing that a start fails by when a read-only database has become writable', async () => {
    const file = join(folder, 'cookies.sqlite');
    writeFileSync(file, '', { mode: 0o444 });
    chownSync(file, ORDINARY_USER.uid!, ORDINARY_USER.uid!);
    expect(await failedStart()).toMatch(/cookies\.sqlite cannot be used: permission denied.*with mode 444/);
    chmodSync(file, 0o644);
    await using service = await ServiceProcess.start(folder, {}, ORDINARY_USER);
    expect(await service.end()).toBe(0);
  });

  it('report that the text of the database is not in UTF-8', async () => {
    makeDatabase(`PRAGMA encoding = 'UTF-16'; CREATE TABLE things (name)`);
    expect(await problemOfStart()).toMatch(
      /cookies\.sqlite cannot be used: its text is in UTF-16le; it must be in UTF-8/,
    );
    expect(await failuresOfDoctor()).toMatch(/its text is in UTF-16le, and must be in UTF-8/);
  });

  asRoot('report that the development secret cannot be read, and do not report the port', async () => {
    writeFileSync(join(folder, 'jwt-secret'), 'x'.repeat(43), { mode: 0o600 });
    const output = await failedStart({ NODE_ENV: 'development', JWT_SECRET: undefined });
    expect(output).toMatch(/The service cannot start: permission denied \(.*jwt-secret is of 0:0 with mode 600/);
    expect(output).not.toContain('cannot listen');
  });

  it('report that the development secret is too short, as after a power failure', async () => {
    writeFileSync(join(folder, 'jwt-secret'), '');
    const environment = { NODE_ENV: 'development', JWT_SECRET: undefined };
    const message = /the secret in .*jwt-secret has 0 bytes, not 32: remove the file$/m;
    expect(await problemOfStart(folder, environment)).toMatch(message);
    expect((await run(folder, ['token', '--sub', 'alice'], { environment })).stderr).toMatch(message);
    expect(await failuresOfDoctor(folder, environment)).toMatch(/^FAIL +keys +the secret in .*: remove the file$/m);
  });

  onVolume('say that the volume is full', async () => {
    using volume = new SmallVolume();
    execFileSync('sh', ['-c', `cat /dev/zero > ${join(volume.folder, 'ballast')} || true`], { stdio: 'ignore' });
    expect(await problemOfStart(volume.folder)).toMatch(/volume (is full|has space)/);
    expect(await failuresOfDoctor(volume.folder)).toMatch(/volume writable +.*its volume is full/);
    const environment = { NODE_ENV: 'development', JWT_SECRET: undefined };
    expect((await run(volume.folder, ['token', '--sub', 'alice'], { environment })).stderr).toContain('ENOSPC');
    expect(readdirSync(volume.folder).filter((name) => name.startsWith('jwt-secret'))).toEqual([]);
    // Space for the file, and not for its migrations.
    for (const more of ['100K', '80K']) {
      execFileSync('truncate', ['-s', `-${more}`, join(volume.folder, 'ballast')]);
      expect(await problemOfStart(volume.folder)).toMatch(/volume .*full/);
    }
  });

  onVolume('say that the volume has no inode left for the files beside an existing database', async () => {
    using volume = new SmallVolume();
    const database = openDatabase(join(volume.folder, 'cookies.sqlite'));
    database.pragma('journal_mode = WAL');
    database.exec('CREATE TABLE things (name)').close();
    execFileSync('mount', ['-o', 'remount,nr_inodes=10', volume.folder]);
    execFileSync('sh', ['-c', 'touch 1 2 3 4 5 6 7 8 9 10 || true'], { cwd: volume.folder, stdio: 'ignore' });
    const problem = 'its volume is full (ENOSPC: no space left on device';
    expect(await problemOfStart(volume.folder)).toContain(`cookies.sqlite cannot be written: ${problem}`);
    const failures = await failuresOfDoctor(volume.folder);
    expect(failures).toMatch(/real write +.*its volume is full .* or inodes/);
    expect(failures).not.toContain('give the user');
  });

  onVolume('say that the volume is mounted read-only', async () => {
    using volume = new SmallVolume();
    const mount = (options: string) => execFileSync('mount', ['-o', `remount,${options}`, volume.folder]);
    const problem = /it is on a read-only volume .*; mount it writable, or name another place\.$/m;
    mount('ro');
    expect(await failuresOfDoctor(volume.folder)).toMatch(/volume writable +.*it is on a read-only volume/);
    expect(await problemOfStart(volume.folder)).toMatch(problem);
    mount('rw');
    openDatabase(join(volume.folder, 'cookies.sqlite')).exec('CREATE TABLE things (name)').close();
    mount('ro');
    expect(await failuresOfDoctor(volume.folder)).toMatch(/real write +.*it is on a read-only volume/);
    expect(await problemOfStart(volume.folder)).toMatch(problem);
  });
});

it.each([
  ['PORT', '1'],
  ['MANAGEMENT_PORT', '2'],
])('a start whose %s is in use exits with 1 and names the address, with WORKERS=%s', async (variable, workers) => {
  const occupant = createServer().listen(0, '127.0.0.1');
  await once(occupant, 'listening');
  const { port } = occupant.address() as AddressInfo;
  await using service = ServiceProcess.spawn(folder, { WORKERS: workers, [variable]: String(port) });
  expect(await service.exit()).toBe(1);
  occupant.close();
  expect(service.output).toContain(`127.0.0.1:${port}`);
  expect(service.output.match(/The service cannot listen: .*EADDRINUSE/g)).toHaveLength(1);
  expect(service.output).not.toMatch(/^ +at /m);
});

it.each([
  ['1', 143],
  ['2', 0],
])(
  'a start that waits for a locked database ends on SIGTERM beside an agent that listens, with WORKERS=%s',
  async (workers, code) => {
    using other = openDatabase(makeDatabase());
    other.exec('BEGIN EXCLUSIVE');
    const agent = preloaded(`process.on('SIGTERM', () => {});`);
    await using service = ServiceProcess.spawn(folder, {
      ...agent,
      WORKERS: workers,
      DATABASE_BUSY_TIMEOUT: '60000',
    });
    const pid = () => (workers === '1' ? service.child.pid! : workersOf(service)[0]!);
    await until(() => pid() !== undefined, 'the process');
    const mapped = () => readFileSync(`/proc/${pid()}/maps`, 'utf8');
    await until(() => /better-sqlite3.*\.node$/m.test(mapped()), 'the process has loaded SQLite');
    service.child.kill('SIGTERM');
    expect(await service.exit()).toBe(code);
  },
);

onVolume('a start that waits for a locked database ends on SIGTERM also as process 1 of a container', async () => {
  using other = openDatabase(makeDatabase());
  other.exec('BEGIN EXCLUSIVE');
  const through = ['unshare', '--pid', '--fork', '--kill-child'];
  await using service = ServiceProcess.spawn(folder, { DATABASE_BUSY_TIMEOUT: '60000' }, { through });
  await until(() => workersOf(service).length === 1, 'the service');
  const [processOne] = workersOf(service);
  const mapped = () => readFileSync(`/proc/${processOne}/maps`, 'utf8');
  await until(() => /better-sqlite3.*\.node$/m.test(mapped()), 'the service has loaded SQLite');
  process.kill(processOne!, 'SIGTERM');
  expect(await service.exit()).toBe(143);
});

it.each([
  ['waits for a promise that never settles', 13, 'onModuleInit() { return new Promise(() => {}); }'],
  ['undefined was thrown, which is no Error', 1, 'onModuleInit() { throw undefined; }'],
])('a start that ends in a provider says why: %s', async (message, code, body) => {
  await using service = ServiceProcess.spawn(folder, withProvider(body));
  expect(await service.exit()).toBe(code);
  expect(service.output).toContain(message);
});

it('a start with WORKERS in the cluster of another program, such as PM2, ends with a message', () => {
  const exec = JSON.stringify(resolve('dist/src/main.js'));
  const program = `const cluster = require('node:cluster');
    cluster.setupPrimary({ exec: ${exec}, execArgv: [] });
    cluster.fork().on('exit', process.exit);`;
  const env = { PATH: process.env['PATH'], ...environmentIn(folder, { WORKERS: '2' }) };
  const { status, stderr } = spawnSync(process.execPath, ['--eval', program], {
    env,
    encoding: 'utf8',
    timeout: 30_000,
  });
  expect([status, stderr]).toEqual([1, expect.stringContaining('WORKERS is 2 in a worker of another program')]);
});

it('a service with few descriptors keeps as many connections as they allow, and warns of it once', async () => {
  const through = ['sh', '-c', 'ulimit -n 400; exec "$0" "$@"'];
  await using service = await ServiceProcess.start(folder, { MAX_CONNECTIONS_PER_ADDRESS: '4000' }, { through });
  const sockets = await Promise.all(Array.from({ length: 110 }, () => connected(service.url)));
  const open = () => sockets.filter((socket) => !socket.destroyed).length;
  for (const socket of sockets) socket.resume();
  await until(() => open() <= 100, '100 open connections');
  expect(open()).toBe(100);
  const warnings = service.lines.filter(({ level }) => level === 'warn').map(({ msg }) => msg);
  const advice =
    /can open at most 400 files, so it keeps 100 of 4000 connections; .* to 4300, or lower MAX_CONNECTIONS/;
  expect(warnings).toEqual([expect.stringMatching(advice)]);
});

it('a service whose BACKUP_DIR does not respond says so on the admin page, and has its other metrics', async () => {
  const silent = preloaded(`
    import { syncBuiltinESMExports } from 'node:module';
    import promises from 'node:fs/promises';
    const { readdir } = promises;
    promises.readdir = (path, ...rest) => (/backups$/.test(path) ? new Promise(() => {}) : readdir(path, ...rest));
    syncBuiltinESMExports();`);
  const settings = { ADMIN_PAGE: 'true', BACKUP_DIR: join(folder, 'backups') };
  await using service = await ServiceProcess.start(folder, { ...settings, ...silent });
  const { body } = await Client.of(service, { scope: 'admin:read' }).get('/admin/status');
  expect(body.backups).toEqual({ files: [], problem: 'BACKUP_DIR does not respond' });
  expect(service.output).toMatch(/A token: .*admin:read/);
  expect((await metricsOf(service)).get('storage_records{resource="cookies"}')).toBe(0);
});

describe('the built service', () => {
  (setSourceMapsSupport === undefined ? it.skip : it)(
    'shows the places of the TypeScript sources in a stack',
    async () => {
      const { stderr } = await outcomeOf(startCommand(folder, ['--help'], preloaded(THROWS_AT_THE_FIRST_OUTPUT)));
      expect(stderr).toMatch(/^Error: thrown for its stack$/m);
      expect(stderr).toMatch(/\/src\/cli\/[a-z-]+\.ts:\d+:\d+/);
    },
  );

  it('and every command print the version with --version', async () => {
    const { stdout } = spawnSync(process.execPath, [resolve('dist/src/main.js'), '--version'], { encoding: 'utf8' });
    expect(stdout).toBe(`${version}\n`);
    for (const command of [[], ['export'], ['import'], ['backup'], ['restore'], ['doctor'], ['token']]) {
      const outcome = await run(folder, [...command, '--version']);
      expect([command, outcome]).toEqual([command, { code: 0, stdout: `${version}\n`, stderr: '' }]);
    }
  });
});

asRoot('a start by root in a relative folder gives it to the owner of the folder above, and no other', async () => {
  const { uid: owner } = statSync(dirname(folder));
  const service = await ServiceProcess.start(folder, { DATABASE_URL: 'sqlite:d/e/cookies.sqlite' });
  expect(await service.end()).toBe(0);
  const owners = ['..', '.', 'd', 'd/e', 'd/e/cookies.sqlite'].map((name) => statSync(join(folder, name)).uid);
  expect(owners).toEqual([owner, ...owners.slice(1).map(() => ORDINARY_USER.uid)]);
});
