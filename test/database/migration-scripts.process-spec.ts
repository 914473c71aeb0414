import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { databaseUrlFor, provideDatabase } from '../support/engine.js';
import { Client, COOKIE, environmentIn, startService, temporaryFolder } from '../support/service.js';

const ROOT = join(import.meta.dirname, '../..');
const MIGRATION = 'CreateCookiesAndStorage1790000000000';

describe('the npm scripts of migrations', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };

  /** Runs a script of package.json without the build, after the script that it calls first. */
  const run = async (folder: string, script: string, ...args: string[]): Promise<{ code: number; output: string }> => {
    const [first, last] = scripts[script]!.split(' && ');
    if (first!.includes('migration:')) {
      const migrated = await run(folder, first!.split(' ').at(-1)!);
      expect(migrated).toMatchObject({ code: 0, output: expect.stringContaining(MIGRATION) });
    }
    const [color, command = '', ...words] = [...last!.split(' '), ...args];
    // The output goes into a pipe, which must not get colors.
    expect(color).toBe('NO_COLOR=1');
    const program = join(ROOT, 'node_modules/.bin', command);
    const env = { PATH: process.env['PATH'], ...environmentIn(folder, { NODE_ENV: 'production' }), NO_COLOR: '1' };
    return new Promise((resolve) => {
      execFile(program, words, { cwd: ROOT, env }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr });
      });
    });
  };

  it('run before migration:generate compares, and are reverted by migration:revert; the service starts on them', async () => {
    const folder = temporaryFolder();
    await provideDatabase(folder);
    const generated = await run(folder, 'migration:generate', join(folder, 'nothing'));
    expect(generated.output).toContain('No changes in database schema were found');
    expect(existsSync(join(folder, 'nothing.ts'))).toBe(false);

    {
      await using service = await startService({ DATABASE_URL: databaseUrlFor(folder), MIGRATE_ON_START: 'false' });
      expect((await Client.of(service).post(COOKIE)).status).toBe(201);
    }

    expect(await run(folder, 'migration:revert')).toMatchObject({
      code: 0,
      output: expect.stringContaining('reverted'),
    });
  });
});
