import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApiDocument } from '../src/openapi/document.js';
import { nodeMajor } from '../src/config/node-version.js';
import { ProjectCopy } from './support/project/project-copy.js';
import { run } from './support/command.js';
import { ServiceProcess } from './support/service-process.js';
import { startService, temporaryFolder } from './support/service.js';

const THROWS_AT_THE_FIRST_OUTPUT = `
  const { write } = process.stdout;
  process.stdout.write = () => {
    process.stdout.write = write;
    console.error(new Error('thrown for its stack').stack);
    return true;
  };
  Error.stackTraceLimit = 50;`;

describe('the built service', () => {
  let folder: string;
  beforeEach(() => (folder = temporaryFolder()));
  afterEach(() => rmSync(folder, { recursive: true }));

  it('makes the OpenAPI document at the first request to it, and responds to all of those alike', async () => {
    const service = await ServiceProcess.start(folder, { DOCS: 'true' });
    const fetchDocument = async () => (await fetch(`${service.url}/openapi.json`)).json();
    const documents = await Promise.all([1, 2, 3, 4].map(fetchDocument));
    const inProcess = await startService();
    const expected = JSON.parse(JSON.stringify(openApiDocument(inProcess.app))) as unknown;
    await inProcess.stop();
    await service.end();
    for (const document of documents) expect(document).toEqual(expected);
  });

  it('shows the places of the TypeScript sources in a stack', async () => {
    const { stderr } = await run(folder, ['--help'], {
      environment: { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(THROWS_AT_THE_FIRST_OUTPUT)}` },
    });
    expect(stderr).toMatch(/^Error: thrown for its stack$/m);
    expect(stderr).toMatch(/\/src\/cli\/[a-z-]+\.ts:\d+:\d+/);
  });

  (nodeMajor >= 24 ? describe : describe.skip)('on Node 24', () => {
    it('keeps what V8 has compiled for the next start, where NODE_COMPILE_CACHE says', async () => {
      const cache = mkdtempSync(join(folder, 'cache-'));
      const service = await ServiceProcess.start(folder, { NODE_COMPILE_CACHE: cache });
      await service.end();
      expect(readdirSync(cache, { recursive: true }).length).toBeGreaterThan(10);
    });

    it('keeps it in a folder that only the user of the service may enter, whatever the umask', async () => {
      const copy = new ProjectCopy();
      const cache = join(copy.folder, 'dist/compile-cache');
      rmSync(cache, { recursive: true, force: true });
      const umask = process.umask(0);
      const ended = await copy.node('dist/src/cli/main.js', '--version').finally(() => process.umask(umask));
      expect(ended).toMatchObject({ status: 0, stderr: '' });
      expect(statSync(cache).mode & 0o777).toBe(0o700);
      expect(readdirSync(cache, { recursive: true }).length).toBeGreaterThan(1);
      copy.remove();
    });
  });
});

describe('the command line of a project', () => {
  let copy: ProjectCopy;
  beforeEach(() => (copy = new ProjectCopy()));
  afterEach(() => copy.remove());

  const namesIn = (folder: string, ending: RegExp): string[] =>
    readdirSync(join(copy.folder, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => ending.test(name) && !/\.(spec|d)\.ts$/.test(name))
      .map((name) => name.replace(ending, ''))
      .sort();

  it('is built again where a source has changed, without what the build of another branch has left behind', async () => {
    const runOnce = async () =>
      expect(await copy.node('scripts/cli.js', '--version')).toMatchObject({ status: 0, stdout: '1.0.0\n' });
    await runOnce();
    writeFileSync(join(copy.folder, 'dist/migrations/1799999999999-add-price.js'), 'throw new Error("stale");');
    await runOnce();
    expect(namesIn('dist/migrations', /\.js$/)).toContain('1799999999999-add-price');
    const inOneMinute = Date.now() / 1000 + 60;
    utimesSync(join(copy.folder, 'src/main.ts'), inOneMinute, inOneMinute);
    await runOnce();
    for (const folder of ['src', 'migrations']) {
      expect(namesIn(`dist/${folder}`, /\.js$/)).toEqual(namesIn(folder, /\.[jt]s$/));
    }
  });
});
