import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { backupName } from '../../src/management/backup-files.js';
import { RESOURCES } from '../../src/features.js';
import { folderWith, inDatabase, line, run } from '../support/command.js';
import { canMakeCertificates, makeCertificate } from '../support/certificate.js';
import { startServer } from '../support/local-server.js';
import { Client, startService, temporaryFolder } from '../support/service.js';
import { preloaded } from '../support/faults/preloaded.js';

const COMMANDS = ['export', 'import', 'backup', 'restore', 'migrate', 'doctor', 'token'];

describe('the command line', () => {
  let folder: string;

  beforeEach(() => {
    folder = temporaryFolder();
  });

  it('explains every command, with examples', async () => {
    const { code, stdout } = await run(folder, ['--help']);
    expect(code).toBe(0);
    for (const command of COMMANDS) {
      expect(stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
      const help = await run(folder, [command, '--help']);
      expect(help).toMatchObject({ code: 0, stderr: '' });
      expect(help.stdout).toMatch(new RegExp(`Examples:\n  npm run --silent cli -- ${command}`));
    }
    const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
    for (const command of COMMANDS) expect(readme).toContain(`npm run --silent cli -- ${command}`);
  });

  const THERE_ARE = RESOURCES.map(({ name }) => name.plural).join(', ');

  it.each([
    [[], 'Usage: cli'],
    [['explode'], "unknown command 'explode'"],
    [['import', 'cookies', 'a', 'b'], 'too many arguments'],
    [['import', 'cookies', '--ids', 'perhaps'], 'Allowed choices are keep, assign'],
    [['export'], 'Usage: cli export [options] [command]'],
    [
      ['export', '--output', 'f', 'cookies'],
      `Name the resource first: ${THERE_ARE}. For example: npm run --silent cli`,
    ],
    [['import', 'jars'], `Allowed choices are ${THERE_ARE}.`],
    [['token'], "required option '--sub <who>' not specified"],
    [['token', '--sub', 'a', '--expires', '0s'], 'It must be a number above 0 with s, m, h or d, such as 1h.'],
    [['export', 'cookies', '--limit', '0'], 'from 1 on.\nSee: npm run --silent cli -- export cookies --help'],
    [['export', 'cookies', '--flavor', 'mint'], 'Allowed choices are chocolate, vanilla, cinnamon'],
    [['export', 'cookies', '--after', '-1'], 'It must be a whole number from 1 to 9007199254740991, or 0'],
    [['export', 'cookies', '--colour', 'red'], "unknown option '--colour'"],
    [['backup'], 'Name the file to write, or a folder with --to'],
    [['backup', 'file', '--to', 'backups'], 'Name the file file, or a folder with --to'],
    [['backup', '--to', '.', '--every', '25d'], "argument '25d' is invalid. It must be at most 24d."],
    [['backup', '--to', '.', '--every', '90'], "'90' is invalid. It must be a number above 0 with s, m, h or d"],
    [['backup', '--to', '.', '--keep', '24x'], "'24x' is invalid. It must be one or more numbers of hours, days"],
    [['import', 'cookies', ''], 'file is empty: give it a value'],
    [['revoke', '--sub', 'a', '--issuer', ''], '--issuer is empty: give it a value'],
    [['revoke'], 'either --jti or --sub'],
    [['revoke', '--jti', 'a', '--sub', 'b'], 'either --jti or --sub'],
    [['set', '--unset', ''], '--unset is empty: give it a value'],
    [['set', 'COOKIES_CAPACITY=many'], 'COOKIES_CAPACITY must be a whole number from 0 to'],
    [['set', 'MAINTENENCE=true'], 'MAINTENENCE cannot be set while the service runs; these can: '],
    [['set', 'PORT=80'], 'PORT cannot be set while the service runs; these can: '],
    [['set', 'MAINTENANCE='], 'MAINTENANCE has no value: give one, or --unset MAINTENANCE'],
    [['set', 'MAINTENANCE'], '"MAINTENANCE" is not NAME=VALUE'],
    [['set', 'MAINTENANCE=true', '--unset', 'MAINTENANCE'], 'MAINTENANCE is given twice: name each setting once'],
    [['set', '--unset', 'LOG_LEVEL', 'MAINTENANCE=true'], '--unset takes names: put MAINTENANCE=true before it'],
    [['set'], 'give NAME=VALUE, --unset NAME, or --list'],
  ])('%j exits with 2 and a reason', async (args, message) => {
    expect(await run(folder, args)).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('doctor accepts an empty database file, as it is before the first start, but none with only a view', async () => {
    const place = temporaryFolder();
    writeFileSync(join(place, 'cookies.sqlite'), '');
    expect((await run(place, ['doctor'])).stdout).toMatch(/^ok {4}database file +.* is empty; a start or a migration/m);
    inDatabase(place, (database) => database.exec('CREATE VIEW report AS SELECT 1'));
    expect((await run(place, ['doctor'])).stdout).toMatch(/^FAIL {2}database file +.* is no database of this service/m);
  });

  it('exits with 1 and names the variables when the settings are wrong', async () => {
    const environment = { COOKIES_CAPACITY: 'many', JWT_SECRET: 'short' };
    for (const args of [['export', 'cookies'], ['doctor']]) {
      const { code, stdout, stderr } = await run(folder, args, { environment });
      expect(code).toBe(1);
      for (const error of ['COOKIES_CAPACITY must be', 'JWT_SECRET must have'])
        expect(stdout + stderr).toContain(error);
      expect(stderr).not.toMatch(/^ +at /m);
    }
  });

  it.each([{}, { JWT_ISSUER: 'https://login.example.com/', JWT_AUDIENCE: 'cookies' }])(
    'prints a token that the service accepts: %j',
    async (environment) => {
      const args = ['token', '--sub', 'alice', '--scope', 'cookies:read', '--expires', '5m'];
      const { code, stdout } = await run(folder, args, { environment });
      expect(code).toBe(0);
      await using service = await startService(environment);
      const client = Client.bearing(service, stdout.trim());
      expect((await client.get('/cookies')).status).toBe(200);
      expect((await client.post({})).status).toBe(403);
    },
  );

  it.each([
    [['--expires', '15m'], 15 * 60],
    [[], 3600],
    [['--expires', '7d'], 7 * 24 * 3600],
  ])('prints a token that expires when it should: %j', async (options, lifetime) => {
    const environment = { JWT_MAX_LIFETIME: String(7 * 24 * 3600) };
    const { stdout } = await run(folder, ['token', '--sub', 'alice', ...options], { environment });
    const { sub, iat, exp } = decodeJwt(stdout);
    expect({ sub, lifetime: exp! - iat! }).toEqual({ sub: 'alice', lifetime });
    expect(Math.abs(iat! - Date.now() / 1000)).toBeLessThan(30);
  });

  it.each([
    ['lifetime', 'a', '61m', '--expires must be at most 3600s (JWT_MAX_LIFETIME)'],
    ['subject', 'a'.repeat(1025), '1m', '--sub must have 1 to 1024 characters'],
  ])('prints no token that the service would reject for its %s', async (_what, sub, expires, message) => {
    const environment = { JWT_MAX_LIFETIME: '3600' };
    const printed = await run(folder, ['token', '--sub', sub, '--expires', expires], { environment });
    expect(printed).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
  });

  describe('doctor', () => {
    const failures = (stdout: string) => stdout.split('\n').filter((text) => text.startsWith('FAIL'));

    const CHECKS = 'settings,keys,clock,native module,volume writable,free space,WAL mode,real write'.split(',');

    it('reports no problem before the first start, and makes no file', async () => {
      const { code, stdout } = await run(folder, ['doctor']);
      expect({ code, failures: failures(stdout) }).toEqual({ code: 0, failures: [] });
      expect(stdout).toContain('does not exist yet');
      expect(readdirSync(folder)).toEqual([]);
      expect((await run(folder, ['export', 'cookies'])).stderr).toContain('There is no database');
      expect(readdirSync(folder)).toEqual([]);
    });

    it('names a folder that is in the place of the database, such as one that Docker makes for a missing file', async () => {
      mkdirSync(join(folder, 'cookies.sqlite'));
      const { code, stdout } = await run(folder, ['doctor']);
      expect(code).toBe(1);
      for (const check of ['real write', 'database file'])
        expect(stdout).toMatch(
          new RegExp(`^FAIL +${check} .*cookies\\.sqlite.*: it is a folder; name a file in DATABASE_URL$`, 'm'),
        );
    });

    it('fails for a missing database beside its WAL', async () => {
      writeFileSync(join(folder, 'cookies.sqlite-wal'), 'the last writes');
      const { code, stdout } = await run(folder, ['doctor']);
      const lost = expect.stringMatching(
        /database file +.*cookies.sqlite is missing or empty, but .*-wal has its last/,
      );
      expect({ code, failures: failures(stdout) }).toEqual({ code: 1, failures: [lost] });
    });

    (canMakeCertificates ? it : it.skip)('says until when the certificate is valid, and fails after it', async () => {
      const { certificate, key } = makeCertificate(folder);
      const environment = { TLS_CERT_FILE: certificate, TLS_KEY_FILE: key };
      const { code, stdout } = await run(folder, ['doctor'], { environment });
      expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ok +certificate .*until 2/m) });
      const twoDaysLater = preloaded('const { now } = Date; Date.now = () => now() + 2 * 86_400_000;');
      const later = await run(folder, ['doctor'], { environment: { ...environment, ...twoDaysLater } });
      expect(failures(later.stdout)).toEqual([expect.stringMatching(/certificate +.*certificate\.pem expired at 2/)]);
    });

    it('loads the keys of each identity provider, and says why it cannot', async () => {
      const { publicKey } = generateKeyPairSync('ed25519');
      const keys = JSON.stringify({ keys: [publicKey.export({ format: 'jwk' })] });
      const provider = await startServer((_request, response) => response.end(keys));
      const jwksUri = `${provider.url}/keys`;
      const JWT_ISSUERS = JSON.stringify([{ issuer: 'https://login.example.com/', audience: 'a', jwksUri }]);
      const options = { environment: { JWT_ISSUERS } };
      const loaded = expect.stringMatching(/^ok {4}key sets +those of https:\/\/login\.example\.com\/ can be loaded$/m);
      expect(await run(folder, ['doctor'], options)).toMatchObject({ code: 0, stdout: loaded });
      await provider[Symbol.asyncDispose]();
      const { stdout } = await run(folder, ['doctor'], options);
      expect(failures(stdout)).toEqual([
        expect.stringMatching(/key sets +http:\S+keys: .*ECONNREFUSED.*: correct JWT_ISSUER,/),
      ]);
    });

    it('reports no problem while the service runs and after it, and leaves no file behind', async () => {
      const service = await startService({ DATABASE_URL: `sqlite:${join(folder, 'cookies.sqlite')}` });
      let files = readdirSync(folder);
      const running = await run(folder, ['doctor']);
      expect(readdirSync(folder)).toEqual(files);
      await service.stop();
      files = readdirSync(folder);
      // File systems and clocks round times, so half a minute is accepted.
      const soon = Date.now() / 1000 + 30;
      utimesSync(join(folder, 'cookies.sqlite'), soon, soon);
      const stopped = await run(folder, ['doctor']);
      expect(readdirSync(folder)).toEqual(files);
      for (const { code, stdout } of [running, stopped]) {
        expect({ code, failures: failures(stdout) }).toEqual({ code: 0, failures: [] });
        for (const name of CHECKS) expect(stdout).toMatch(new RegExp(`^ok    ${name} `, 'm'));
        expect(stdout).toMatch(/^ok {4}migrations +all have run$/m);
        expect(stdout).toMatch(/^ok {4}counter +0 cookies of 10000/m);
      }
    });

    it('reports a volume with a byte less than 64 MiB', async () => {
      const environment = preloaded(`
        import fs from 'node:fs';
        import { syncBuiltinESMExports } from 'node:module';
        fs.statfsSync = () => ({ bavail: 16_383.999, bsize: 4096 });
        syncBuiltinESMExports();`);
      const free = /^FAIL {2}free space +63 MiB are free on the volume of .*at least 64 MiB$/m;
      const stdout = expect.stringMatching(free);
      expect(await run(folder, ['doctor'], { environment })).toMatchObject({ code: 1, stdout });
    });

    const change = (sql: string) => () => inDatabase(folder, (database) => database.exec(sql));
    const written = (seconds: number) => () => {
      const time = Date.now() / 1000 + seconds;
      utimesSync(join(folder, 'cookies.sqlite'), time, time);
    };

    it.each<[string, () => void, RegExp]>([
      [
        'a counter that is wrong',
        change("UPDATE storage SET used = 5 WHERE resource = 'cookies'"),
        /^FAIL {2}counter +it says 5, and there are 1 cookies: run npm run --silent cli -- doctor --fix$/m,
      ],
      [
        'a newer schema',
        change(`INSERT INTO migrations (timestamp, name) VALUES (9e12, 'Later9')`),
        /^FAIL {2}migrations +Later9 are of a newer version: use that version$/m,
      ],
      [
        'a newer schema with other triggers, which --fix of this version cannot make',
        change(`INSERT INTO migrations (timestamp, name) VALUES (9e12, 'Later9'); DROP TRIGGER cookies_insert`),
        /^ok {4}counter +not known to this version$/m,
      ],
      [
        'a table "storage" without its row',
        change('DELETE FROM storage'),
        /^FAIL {2}database file .* and restore a backup \(npm run --silent cli -- restore\)$/m,
      ],
      [
        'an entity whose column the database lacks',
        change('ALTER TABLE cookies RENAME COLUMN wish TO hope'),
        /^FAIL {2}migrations +the entity Cookie cannot be read \(.*wish.*\): write a migration for it/m,
      ],
      [
        'a trigger and a view that no migration has made',
        change('CREATE TRIGGER t AFTER INSERT ON cookies BEGIN SELECT 1; END; CREATE VIEW v AS SELECT 1'),
        /^FAIL {2}database file +\S+: it has the trigger t; it has the view v: .*restore rejects such a backup$/m,
      ],
      [
        'a clock that is two minutes behind',
        written(120),
        /^FAIL {2}clock +it is .*, but .*cookies\.sqlite was written .*: set the clock/m,
      ],
    ])('names the remedy for %s', async (_what, damage, expected) => {
      folder = await folderWith(line({ id: 1 }));
      damage();
      const { code, stdout, stderr } = await run(folder, ['doctor']);
      expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(expected) });
      expect(stderr).toMatch(/of 13 checks failed/);
    });

    it('reports the age of the last backup in BACKUP_DIR, that there is none, or how to reach the folder', async () => {
      const environment = { BACKUP_DIR: temporaryFolder() };
      const none = expect.stringMatching(/^FAIL {2}last backup +\S+ has no backup: run /m);
      expect(await run(folder, ['doctor'], { environment })).toMatchObject({ code: 1, stdout: none });
      const name = backupName(Date.now() - 90 * 60_000);
      writeFileSync(join(environment.BACKUP_DIR, name), 'x');
      const { stdout } = await run(folder, ['doctor'], { environment });
      expect(stdout).toMatch(new RegExp(`^ok    last backup      ${name}, 1\\.5 hours old, 1 bytes$`, 'm'));
      const missing = join(environment.BACKUP_DIR, 'missing');
      const unmounted = await run(folder, ['doctor'], { environment: { BACKUP_DIR: missing } });
      expect(unmounted.stdout).toContain(`${missing} cannot be read (ENOENT`);
      expect(unmounted.stdout).toContain('mount its disk, or correct BACKUP_DIR or its rights');
    });

    it('reports a folder that is a link to a missing one, such as a disk that is not mounted', async () => {
      symlinkSync(join(folder, 'nowhere'), join(folder, 'data'));
      const environment = { DATABASE_URL: `sqlite:${join(folder, 'data/cookies.sqlite')}` };
      const { stdout } = await run(folder, ['doctor'], { environment });
      expect(stdout).toMatch(/^FAIL {2}volume writable +\S+data cannot be written: ENOENT/m);
    });
  });
});
