import { readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeMajor } from '../../src/config/node-version.js';
import { serviceVersion } from '../../src/config/service-version.js';
import { ProjectCopy } from '../support/project/project-copy.js';

/** Above the largest process id of Linux, 2^22. */
const NO_PROCESS = '4194305';

describe('the command line of a project', () => {
  let copy: ProjectCopy;
  beforeEach(() => (copy = new ProjectCopy()));

  const namesIn = (folder: string, ending: RegExp): string[] =>
    readdirSync(join(copy.folder, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => ending.test(name) && !/\.(spec|d)\.ts$/.test(name))
      .map((name) => name.replace(ending, ''))
      .sort();

  /** Types are checked by the build of the project itself. */
  function buildWithoutTypes(): void {
    const config = join(copy.folder, 'tsconfig.build.json');
    const options = '"compilerOptions": {';
    writeFileSync(config, readFileSync(config, 'utf8').replace(options, `${options} "noCheck": true,`));
    // Older than the build, as it was.
    utimesSync(config, 0, 0);
  }

  it('is built again if a source has changed, but not beside start:dev, after a build in progress, and without files of another branch', async () => {
    const runOnce = async () =>
      expect(await copy.node('scripts/cli.js', '--version')).toMatchObject({
        status: 0,
        stdout: `${serviceVersion()}\n`,
      });
    buildWithoutTypes();
    await runOnce();
    writeFileSync(join(copy.folder, 'dist/migrations/1799999999999-add-price.js'), 'throw new Error("stale");');
    await runOnce();
    // As in `start:dev`, whose service runs these files.
    rmSync(join(copy.folder, 'dist/.built'));
    await runOnce();
    expect(namesIn('dist/migrations', /\.js$/)).toContain('1799999999999-add-price');
    writeFileSync(join(copy.folder, 'dist/.built'), '');
    const inOneMinute = Date.now() / 1000 + 60;
    utimesSync(join(copy.folder, 'src/main.ts'), inOneMinute, inOneMinute);
    const lock = join(copy.folder, 'dist.lock');
    writeFileSync(lock, String(process.pid));
    const run = runOnce();
    await sleep(1000);
    const killed = Date.now();
    writeFileSync(lock, NO_PROCESS);
    await run;
    expect(statSync(join(copy.folder, 'dist/.built')).mtimeMs).toBeGreaterThanOrEqual(killed);
    for (const folder of ['src', 'migrations']) {
      expect(namesIn(`dist/${folder}`, /\.js$/)).toEqual(namesIn(folder, /\.[jt]s$/));
    }
    // A build takes a minute while other tests compile.
  }, 400_000);

  (nodeMajor >= 24 ? it : it.skip)(
    'keeps what V8 has compiled in a folder that only the user of the service may enter, whatever the umask',
    async () => {
      const cache = join(copy.folder, 'dist/compile-cache');
      rmSync(cache, { recursive: true, force: true });
      const umask = process.umask(0);
      const ended = await copy.node('dist/src/cli/main.js', '--version').finally(() => process.umask(umask));
      expect(ended).toMatchObject({ status: 0, stderr: '' });
      expect(statSync(cache).mode & 0o777).toBe(0o700);
      expect(readdirSync(cache, { recursive: true }).length).toBeGreaterThan(1);
    },
  );
});
