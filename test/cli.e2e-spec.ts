import { mkdirSync, readFileSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { inDatabase, line, run } from './command.js';
import { Client, temporaryFolder } from './service.js';
import { ServiceProcess } from './service-process.js';

const COMMANDS = ['export', 'import', 'backup', 'restore', 'doctor', 'token'];

describe('the command line', () => {
  let folder: string;

  beforeEach(() => {
    folder = temporaryFolder();
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('explains every command, with examples', async () => {
    const { code, stdout } = await run(folder, ['--help']);
    expect(code).toBe(0);
    for (const command of COMMANDS) {
      expect(stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
      const help = await run(folder, [command, '--help']);
      expect(help).toMatchObject({ code: 0, stderr: '' });
      expect(help.stdout).toMatch(new RegExp(`Examples:\n  npm run --silent cli -- ${command}`));
    }
    const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8');
    for (const command of COMMANDS) expect(readme).toContain(`npm run --silent cli -- ${command}`);
  });

  it.each([[[]], [['explode']], [['import', 'a', 'b']], [['import', '--ids', 'perhaps']], [['backup']], [['token']]])(
    'exits with 2 when it is called wrongly: %j',
    async (args) => {
      const { code, stdout, stderr } = await run(folder, args);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).not.toBe('');
    },
  );

  it('exits with 1 and names the variables when the settings are wrong', async () => {
    const environment = { COOKIES_CAPACITY: 'many', JWT_SECRET: 'short' };
    for (const args of [['export'], ['doctor']]) {
      const { code, stdout, stderr } = await run(folder, args, { environment });
      expect(code).toBe(1);
      expect(stdout + stderr).toMatch(/COOKIES_CAPACITY must be.*JWT_SECRET must have/s);
      expect(stderr).not.toMatch(/^ +at /m);
    }
  });

  it('prints a token that the service accepts', async () => {
    const { code, stdout } = await run(folder, [
      'token',
      '--sub',
      'alice',
      '--scope',
      'cookies:read',
      '--expires',
      '5m',
    ]);
    expect(code).toBe(0);
    const service = await ServiceProcess.start(folder);
    try {
      const client = Client.bearing(service, stdout.trim());
      expect((await client.get('/cookies')).status).toBe(200);
      expect((await client.post({})).status).toBe(403);
    } finally {
      await service.end();
    }
    expect(await run(folder, ['token', '--sub', 'a', '--expires', 'soon'])).toMatchObject({ code: 2 });
  });

  describe('doctor', () => {
    const failures = (stdout: string) => stdout.split('\n').filter((text) => text.startsWith('FAIL'));

    it('finds all well before the first start, makes nothing, and with the service running', async () => {
      const fresh = await run(folder, ['doctor']);
      expect(fresh).toMatchObject({ code: 0, stdout: expect.stringContaining('does not exist yet') });
      expect((await run(folder, ['export'])).stderr).toContain('There is no database');
      const service = await ServiceProcess.start(folder);
      const { code, stdout } = await run(folder, ['doctor']);
      await service.end();
      expect({ code, failures: failures(stdout) }).toEqual({ code: 0, failures: [] });
      for (const name of ['settings', 'keys', 'clock', 'native module', 'volume writable', 'free space', 'WAL mode']) {
        expect(stdout).toMatch(new RegExp(`^ok    ${name} `, 'm'));
      }
      expect(stdout).toMatch(/^ok {4}migrations +all have run$/m);
      expect(stdout).toMatch(/^ok {4}counter +0 cookies of 10000$/m);
    });

    it.each<[string, () => void, RegExp]>([
      [
        'a counter that is wrong',
        () => inDatabase(folder, (db) => db.exec("UPDATE storage SET used = 5 WHERE resource = 'cookies'")),
        /^FAIL {2}counter +it says 5, and there are 1 cookies: run npm run --silent cli -- doctor --fix$/m,
      ],
      [
        'a newer schema',
        () => inDatabase(folder, (db) => db.exec(`INSERT INTO migrations (timestamp, name) VALUES (9e12, 'Later9')`)),
        /^FAIL {2}migrations +Later9 are of a newer version: use that version$/m,
      ],
      [
        'a clock that is behind',
        () => utimesSync(join(folder, 'cookies.sqlite'), 4e9, 4e9),
        /^FAIL {2}clock +it is .*, but .* was written 2096-.*: set the clock/m,
      ],
    ])('says what to do about %s', async (_what, damage, expected) => {
      await run(folder, ['import'], { input: line({ id: 1 }) });
      damage();
      const { code, stdout, stderr } = await run(folder, ['doctor']);
      expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(expected) });
      expect(stderr).toMatch(/of 12 checks failed/);
    });

    it('says that the folder cannot be written', async () => {
      mkdirSync(join(folder, 'file'));
      const environment = { DATABASE_URL: 'sqlite:/proc/self/cookies.sqlite' };
      const { code, stdout } = await run(folder, ['doctor'], { environment });
      expect({ code, stdout }).toEqual({
        code: 1,
        stdout: expect.stringMatching(/^FAIL {2}volume writable +\/proc\/self cannot be written .*: give the user/m),
      });
    });
  });
});
