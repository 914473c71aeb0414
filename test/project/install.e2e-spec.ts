import { execFile, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodeMajor } from '../../src/config/node-version.js';
import { temporaryFolder } from '../support/service.js';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string) => JSON.parse(readFileSync(join(ROOT, file), 'utf8'));

interface Locked {
  readonly hasInstallScript?: boolean;
  readonly resolved?: string;
}

describe('the installation', () => {
  const { allowScripts, scripts } = read('package.json') as {
    allowScripts: Record<string, boolean>;
    scripts: Record<string, string>;
  };
  const { packages } = read('package-lock.json') as { packages: Record<string, Locked> };

  it('has a decision for every package with an install script, and runs one of them', () => {
    const withScript = Object.keys(packages).filter((path) => packages[path]!.hasInstallScript);
    const names = withScript.map((path) => path.split('node_modules/').at(-1)!);
    expect(Object.keys(allowScripts).sort()).toEqual([...new Set(names)].sort());
    expect(Object.keys(allowScripts).filter((name) => allowScripts[name])).toEqual(['better-sqlite3-12']);
  });

  describe('without the packages for development', () => {
    let folder: string;

    /** Starts a project without the packages for development. */
    const start = (script = 'scripts/start.js') =>
      spawnSync(process.execPath, [script], { cwd: folder, encoding: 'utf8' });

    beforeEach(() => {
      folder = temporaryFolder();
      for (const name of ['scripts', 'src/config']) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
      for (const name of ['node_modules', 'migrations']) mkdirSync(join(folder, name));
      for (const name of ['better-sqlite3-12', 'bindings', 'file-uri-to-path']) {
        symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
      }
    });

    it('runs an existing build, although npm prune --omit=dev has written the lock file', () => {
      const write = (file: string, text: string, minutes: number) => {
        writeFileSync(join(folder, file), text);
        const time = Date.now() / 1000 + 60 * minutes;
        utimesSync(join(folder, file), time, time);
      };
      mkdirSync(join(folder, 'dist/src'), { recursive: true });
      write('dist/src/main.js', "console.log('started');", 1);
      write('dist/.built', '', 1);
      write('package-lock.json', '{}', 2);
      expect(start()).toMatchObject({ status: 0, stdout: 'started\n', stderr: '' });
    });

    it('names the remedy when npm ci has left out the packages that a build needs', () => {
      const { status, stderr } = start();
      expect({ status, stderr }).toEqual({
        status: 1,
        stderr: expect.stringMatching(/^.+--omit=dev.+Run `npm ci --include=dev`\.\n$/),
      });
    });

    it('runs no test with the packages of another version of Node, and names the remedy', () => {
      mkdirSync(join(folder, 'node_modules/jest/bin'), { recursive: true });
      writeFileSync(join(folder, 'node_modules/jest/bin/jest.js'), "console.log('jest');");
      const name = nodeMajor >= 22 ? 'better-sqlite3' : 'better-sqlite3-12';
      rmSync(join(folder, 'node_modules', name), { force: true });
      const { status, stdout, stderr } = start('scripts/test.js');
      expect([status, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(nodeMajor >= 22 ? /: run npm ci with Node \S+\.\n$/ : /could not be made on Node/);
    });
  });

  it('lets npm run no other script of a package', () => {
    expect(readFileSync(join(ROOT, '.npmrc'), 'utf8')).toMatch(/^ignore-scripts=true$/m);
  });

  it('lets signals of npm reach the programs that run until they get one', () => {
    for (const name of ['start', 'start:prod', 'cli']) expect(scripts[name]).toMatch(/^exec node /);
  });

  it('gets packages from the registry that npm is set to', () => {
    expect(Object.keys(packages).filter((path) => packages[path]!.resolved !== undefined)).toEqual([]);
  });

  it('needs no pre- or post-script, which npm skips together with install scripts', () => {
    const hooks = Object.keys(scripts).filter((name) => /^(pre|post)/.test(name));
    expect(hooks).toEqual([]);
  });

  it.each([
    ...['dist/src/main.js', 'dist/src/cli/main.js', 'scripts/start.js', 'scripts/cli.js', 'scripts/test.js'],
    ...['scripts/generate.js', 'scripts/native-module.js'],
  ])('reports in one line that Node 18 is not supported when %s runs on it', async (program) => {
    const { code, stdout, stderr } = await runAsVersion('18.20.8', program);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^Node 18\.20\.8 cannot run this service: install a version .*\n$/);
  });
});

/** Runs a program of the project with another `process.versions.node`. */
function runAsVersion(node: string, program: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${node}' } });`;
  const args = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`, program];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: ROOT, timeout: 20_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}
