import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import { environmentIn, temporaryFolder } from '../support/service.js';

const ROOT = join(import.meta.dirname, '../..');
const IS_NODE_20 = process.versions.node.startsWith('20.');

describe('the native module of SQLite', () => {
  it('is built for this version of Node, and the build for the other version is never loaded', () => {
    openDatabase(':memory:').close();
    const { sharedObjects } = process.report.getReport() as unknown as { sharedObjects: string[] };
    const loaded = sharedObjects.flatMap((path) => /better-sqlite3[^/]*(?=.*\.node$)/.exec(path)?.[0] ?? []);
    expect(loaded).toEqual([IS_NODE_20 ? 'better-sqlite3-12' : 'better-sqlite3']);
  });

  describe('where it is missing', () => {
    let folder: string;

    /** The built service with all its packages, but without the native module of better-sqlite3. */
    beforeAll(() => {
      folder = temporaryFolder();
      const packages = join(folder, 'node_modules');
      mkdirSync(packages);
      for (const name of readdirSync(join(ROOT, 'node_modules'))) {
        if (!name.startsWith('better-sqlite3')) symlinkSync(join(ROOT, 'node_modules', name), join(packages, name));
      }
      for (const name of ['dist', 'package.json']) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
    });

    const run = (...args: string[]) => {
      const env = { PATH: process.env['PATH'], ...environmentIn(folder, { NODE_ENV: 'production' }) };
      const { status, stdout, stderr } = spawnSync(process.execPath, args, {
        cwd: folder,
        env: { ...env, DATABASE_URL: `sqlite:${join(folder, 'cookies.sqlite')}` },
        encoding: 'utf8',
        timeout: 20_000,
      });
      return { status, output: stdout + stderr };
    };

    const NO_BINARY = /better-sqlite3 does not load on Node [0-9.]+ \(.+\): run npm ci/;

    it('a start ends with both versions, without a stack, when it was built for another version of Node', () => {
      // The message of dlopen for a module built for another version of Node, because no such module is available.
      const name = IS_NODE_20 ? 'better-sqlite3-12' : 'better-sqlite3';
      const packageFolder = join(folder, 'node_modules', name);
      const message =
        "The module '/x/better_sqlite3.node'\\nwas compiled against a different Node.js version using\\n" +
        'NODE_MODULE_VERSION 108. This version of Node.js requires\\nNODE_MODULE_VERSION 127. Please try re-compiling';
      mkdirSync(packageFolder);
      writeFileSync(
        join(packageFolder, 'index.js'),
        `throw Object.assign(new Error(${JSON.stringify(message).replaceAll('\\\\n', '\\n')}), { code: 'ERR_DLOPEN_FAILED' })`,
      );
      try {
        const { status, output } = run('dist/src/main.js');
        const expected = /using NODE_MODULE_VERSION 108. This .* requires NODE_MODULE_VERSION 127.*: run npm ci/;
        expect({ status, output }).toEqual({ status: 1, output: expect.stringMatching(expected) });
        expect(output).not.toMatch(/^ +at /m);
      } finally {
        rmSync(packageFolder, { recursive: true });
      }
    });

    it('doctor reports a package without its binary, and does not advise to restore a backup', () => {
      writeFileSync(join(folder, 'cookies.sqlite'), '');
      const name = IS_NODE_20 ? 'better-sqlite3-12' : 'better-sqlite3';
      for (const part of ['lib', 'package.json']) {
        cpSync(join(ROOT, 'node_modules', name, part), join(folder, 'node_modules', name, part), { recursive: true });
      }
      const { status, output } = run('dist/src/cli/main.js', 'doctor');
      expect({ status, output }).toEqual({ status: 1, output: expect.stringMatching(NO_BINARY) });
      expect(output).toMatch(/^FAIL {2}database file +better-sqlite3 does not load/m);
      expect(output).not.toContain('restore a backup');
    });
  });
});
