import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { run } from '../support/command.js';
import { environmentIn, startService, temporaryFolder } from '../support/service.js';
import { SmallVolume } from '../support/faults/small-volume.js';
import { canRunAsOrdinaryUser, ORDINARY_USER } from '../support/ordinary-user.js';

const ROOT = join(import.meta.dirname, '../..');

let folder: string;
let umask: number;

beforeEach(() => {
  folder = temporaryFolder();
  // With the weakest umask, only the service itself restricts access.
  umask = process.umask(0);
});

afterEach(() => process.umask(umask));

/** The permissions of a file or folder, as `chmod` takes them. */
const modeOf = (name: string): string => (fs.statSync(join(folder, name)).mode & 0o777).toString(8);
const modesIn = (name: string): Record<string, string> =>
  Object.fromEntries(fs.readdirSync(join(folder, name)).map((file) => [file, modeOf(join(name, file))]));

describe('the files of a started service', () => {
  const FILES = ['cookies.sqlite', 'cookies.sqlite-shm', 'cookies.sqlite-wal'];

  const filesWhileRunning = async (path: string, environment: object = {}): Promise<Record<string, string>> => {
    const DATABASE_URL = `sqlite:${join(folder, path, 'cookies.sqlite')}`;
    await using _service = await startService({ DATABASE_URL, ...environment });
    return modesIn(path);
  };

  it('and the folders that it makes are readable by its user only', async () => {
    const modes = await filesWhileRunning('a/b', { NODE_ENV: 'development', JWT_SECRET: undefined });
    expect(modes).toEqual(Object.fromEntries([...FILES, 'jwt-secret'].map((file) => [file, '600'])));
    expect([modeOf('a'), modeOf('a/b')]).toEqual(['700', '700']);
  });

  it('are readable by its user only where the database is a link to a missing file', async () => {
    fs.mkdirSync(join(folder, 'real'), { mode: 0o755 });
    fs.mkdirSync(join(folder, 'data'), { mode: 0o755 });
    fs.symlinkSync('../real/cookies.sqlite', join(folder, 'data/cookies.sqlite'));
    await filesWhileRunning('data');
    expect(modeOf('real/cookies.sqlite')).toBe('600');
  });

  it('keep the modes that an operator set before the start', async () => {
    fs.mkdirSync(join(folder, 'shared'), { mode: 0o750 });
    fs.writeFileSync(join(folder, 'shared/cookies.sqlite'), '', { mode: 0o640 });
    const modes = await filesWhileRunning('shared');
    expect(modes).toMatchObject({ 'cookies.sqlite': '640', 'cookies.sqlite-wal': '640', 'cookies.sqlite-shm': '640' });
    expect(modeOf('shared')).toBe('750');
  });
});

describe('the files of the command line', () => {
  const succeed = async (args: string[], options?: Parameters<typeof run>[2]): Promise<void> =>
    expect(await run(folder, args, options)).toMatchObject({ code: 0 });

  beforeEach(async () => {
    const line = '{"id":1,"flavor":"vanilla","size":"small","wish":"Snow"}\n';
    await succeed(['import', 'cookies'], { input: line });
  });

  it('are readable by their maker only: a database, a backup, an export, a restored database', async () => {
    expect(modeOf('cookies.sqlite')).toBe('600');
    await succeed(['backup', 'copy.sqlite']);
    await succeed(['export', 'cookies', '--output', 'cookies.ndjson']);
    expect([modeOf('copy.sqlite'), modeOf('cookies.ndjson')]).toEqual(['600', '600']);
    await succeed(['restore', 'copy.sqlite']);
    for (const [file, mode] of Object.entries(modesIn(''))) expect([file, mode]).toEqual([file, '600']);
    expect(fs.readdirSync(folder).filter((file) => file.includes('.before-'))).toHaveLength(1);
  });

  it('are readable by their maker only in a folder that restore makes', async () => {
    await succeed(['backup', 'copy.sqlite']);
    const environment = { DATABASE_URL: `sqlite:${join(folder, 'new/data/cookies.sqlite')}` };
    await succeed(['restore', 'copy.sqlite'], { environment });
    expect([modeOf('new'), modeOf('new/data'), modeOf('new/data/cookies.sqlite')]).toEqual(['700', '700', '600']);
  });

  it('keep the modes of the files that they replace', async () => {
    for (const file of ['copy.sqlite', 'cookies.ndjson']) fs.writeFileSync(join(folder, file), '', { mode: 0o640 });
    fs.chmodSync(join(folder, 'cookies.sqlite'), 0o660);
    await succeed(['backup', 'copy.sqlite']);
    await succeed(['export', 'cookies', '--output', 'cookies.ndjson']);
    await succeed(['restore', 'copy.sqlite']);
    expect(['copy.sqlite', 'cookies.ndjson', 'cookies.sqlite'].map(modeOf)).toEqual(['640', '640', '660']);
    const [aside] = fs.readdirSync(folder).filter((file) => file.includes('.before-'));
    expect(modeOf(aside!)).toBe('660');
  });
});

describe('backup by a user who may only read the database', () => {
  const backup = (settings = {}) =>
    spawnSync(process.execPath, [join(ROOT, 'dist/src/cli/main.js'), 'backup', 'out/copy.sqlite'], {
      ...ORDINARY_USER,
      cwd: folder,
      env: { PATH: process.env['PATH'], ...environmentIn(folder, { NODE_ENV: 'production', ...settings }) },
      encoding: 'utf8',
    });
  const asOrdinaryUser = ORDINARY_USER.uid !== undefined && canRunAsOrdinaryUser() ? it : it.skip;

  asOrdinaryUser('reports the folder that the user may not enter, not a missing database', () => {
    fs.chmodSync(folder, 0o755);
    fs.mkdirSync(join(folder, 'closed'), { mode: 0o700 });
    fs.mkdirSync(join(folder, 'out'));
    fs.chmodSync(join(folder, 'out'), 0o777);
    fs.writeFileSync(join(folder, 'closed', 'cookies.sqlite'), '');
    const { status, stderr } = backup({ DATABASE_URL: `sqlite:${join(folder, 'closed', 'cookies.sqlite')}` });
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('permission denied') as string });
  });

  asOrdinaryUser(
    'fails while no service runs, and works beside the service: the next start finds no files of that user',
    async () => {
      await (await startService({ DATABASE_URL: `sqlite:${join(folder, 'cookies.sqlite')}` })).stop();
      fs.chmodSync(folder, 0o777);
      fs.chmodSync(join(folder, 'cookies.sqlite'), 0o644);
      fs.mkdirSync(join(folder, 'out'), { mode: 0o777 });
      expect(backup()).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('this user may not write') as string,
      });
      expect(fs.readdirSync(folder).filter((name) => /-(wal|shm)$/.test(name))).toEqual([]);
      await using _service = await startService({ DATABASE_URL: `sqlite:${join(folder, 'cookies.sqlite')}` });
      expect(backup()).toMatchObject({ status: 0 });
    },
  );
});

describe('deploy/make-secrets.sh', () => {
  const NAMES = ['database_url', 'grafana_password', 'jwt_secret', 'postgres_password'];
  const secret = (name: string): string => join(folder, 'secrets', name);

  const makeSecrets = (): void => {
    fs.mkdirSync(join(folder, 'deploy'), { recursive: true });
    fs.copyFileSync(join(ROOT, 'deploy/make-secrets.sh'), join(folder, 'deploy/make-secrets.sh'));
    // Only the folder of the secrets denies access to others.
    fs.chmodSync(folder, 0o755);
    execFileSync('sh', [join(folder, 'deploy/make-secrets.sh')]);
  };

  const readAs = (uid: number, file: string): number | null => spawnSync('cat', [file], { uid, gid: uid }).status;

  it('makes each secret once, in a folder without access for others', () => {
    makeSecrets();
    expect(modeOf('secrets')).toBe('700');
    expect(fs.readdirSync(join(folder, 'secrets')).sort()).toEqual(NAMES);
    const made = NAMES.map((name) => fs.readFileSync(secret(name), 'utf8'));
    expect(made[2]).toMatch(/^[0-9a-f]{64}$/);
    expect(made[0]).toBe(`postgres://cookies:${made[3]}@postgres:5432/cookies?sslmode=disable`);
    makeSecrets();
    expect(NAMES.map((name) => fs.readFileSync(secret(name), 'utf8'))).toEqual(made);
  });

  (ORDINARY_USER.uid === undefined ? it.skip : it)('lets no other user of the machine read a secret', () => {
    fs.mkdirSync(join(folder, 'secrets'), { mode: 0o755 });
    makeSecrets();
    for (const name of NAMES) expect([name, readAs(65534, secret(name))]).toEqual([name, 1]);
  });

  (SmallVolume.mountable && canRunAsOrdinaryUser() ? it : it.skip)(
    'lets the users of the containers read what is mounted into them',
    () => {
      makeSecrets();
      const mounted = join(folder, 'mounted');
      for (const [name, uid] of [
        ['jwt_secret', 10_001],
        ['database_url', 10_001],
        ['postgres_password', 999],
        ['grafana_password', 472],
      ] as const) {
        if (!fs.existsSync(mounted)) fs.writeFileSync(mounted, '');
        // Compose mounts the file of a secret like this.
        execFileSync('mount', ['--bind', secret(name), mounted]);
        try {
          expect([name, readAs(uid, mounted)]).toEqual([name, 0]);
        } finally {
          execFileSync('umount', [mounted]);
        }
      }
    },
  );
});
