import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openApiDocument } from '../src/docs/document.js';
import { nodeMajor } from '../src/config/node-version.js';
import { run } from './support/command.js';
import { loadedModules, loadedPackages, NOTING_PACKAGES } from './support/project/loaded-packages.js';
import { ServiceProcess } from './support/service-process.js';
import { startService, temporaryFolder } from './support/service.js';

const BUNDLE = resolve('dist/bundle');

/** What the way to ready does not need on SQLite, in production. */
const NOT_AT_THE_START = ['cli-progress', 'commander', 'js-yaml', 'pg', 'pg-pool', 'pg-protocol', 'pino-pretty'];

describe('the bundle that operators start', () => {
  let folder: string;
  beforeEach(() => (folder = temporaryFolder()));
  afterEach(() => rmSync(folder, { recursive: true }));

  it('loads nothing that the way to ready does not need', async () => {
    const service = await ServiceProcess.start(folder, NOTING_PACKAGES);
    await service.end();
    const packages = loadedPackages(folder);
    expect(packages).toEqual(expect.arrayContaining(['@nestjs/core', 'fastify', 'typeorm']));
    expect(packages.filter((name) => NOT_AT_THE_START.includes(name))).toEqual([]);
  });

  it('loads what makes the OpenAPI document for the first request to it, and responds to all of those alike', async () => {
    const service = await ServiceProcess.start(folder, { DOCS: 'true' });
    const fetchDocument = async () => (await fetch(`${service.url}/openapi.json`)).json();
    const documents = await Promise.all([1, 2, 3, 4].map(fetchDocument));
    const inProcess = await startService();
    const expected = JSON.parse(JSON.stringify(openApiDocument(inProcess.app))) as unknown;
    await inProcess.stop();
    await service.end();
    for (const document of documents) expect(document).toEqual(expected);
  });

  it('does not load what makes the OpenAPI document before', async () => {
    const service = await ServiceProcess.start(folder, { DOCS: 'true', ...NOTING_PACKAGES });
    await service.end();
    const modules = loadedModules(folder);
    expect(modules).toContain('dist/src/docs/docs-routes.js');
    expect(modules.filter((path) => /docs\/document\.js$|swagger\/dist\/swagger-module\.js$/.test(path))).toEqual([]);
  });

  it('has every entity and migration, under the name that its class has in the source', () => {
    const names = (root: string) =>
      ['src', 'migrations'].flatMap((each) =>
        readdirSync(join(root, each), { recursive: true, encoding: 'utf8' })
          .filter((name) => (each === 'src' ? /\.entity\.js$/ : /\.js$/).test(name))
          .map((name) => join(each, name)),
      );
    const files = names(BUNDLE).sort();
    expect(files).toEqual(names(resolve('dist')).sort());
    const list = namesOfClasses(files, BUNDLE);
    expect(list).toEqual(namesOfClasses(files, resolve('dist')));
    expect(list).toEqual(expect.arrayContaining([['Cookie', 'Cookie']]));
  });

  it('shows the places of the TypeScript sources in a stack', async () => {
    const { stderr } = await run(folder, ['--help'], {
      environment: { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(THROWS_AT_THE_FIRST_OUTPUT)}` },
    });
    expect(stderr).toMatch(/^Error: thrown for its stack$/m);
    expect(stderr).toMatch(/file:\/\/\S+\/src\/cli\/[a-z-]+\.ts:\d+:\d+/);
    expect(stderr).not.toContain('chunks/service');
  });

  (nodeMajor >= 24 ? it : it.skip)('keeps what V8 has compiled for the next start', async () => {
    const cache = mkdtempSync(join(folder, 'cache-'));
    const service = await ServiceProcess.start(folder, { NODE_COMPILE_CACHE: cache });
    await service.end();
    expect(readdirSync(cache, { recursive: true }).length).toBeGreaterThan(10);
    expect(readdirSync(join(BUNDLE, 'compile-cache'), { recursive: true }).length).toBeGreaterThan(1);
  });
});

const THROWS_AT_THE_FIRST_OUTPUT = `
  const { write } = process.stdout;
  process.stdout.write = () => {
    process.stdout.write = write;
    console.error(new Error('thrown for its stack').stack);
    return true;
  };
  Error.stackTraceLimit = 50;`;

/** The name of each class that the files export, with the name of the export. */
function namesOfClasses(files: readonly string[], root: string): string[][] {
  const program = `
    const list = [];
    for (const url of ${JSON.stringify(files.map((file) => pathToFileURL(join(root, file)).href))}) {
      for (const [name, value] of Object.entries(await import(url))) list.push([name, value.name]);
    }
    console.log(JSON.stringify(list));`;
  const preload = pathToFileURL(resolve('node_modules/reflect-metadata/Reflect.js')).href;
  const args = ['--import', preload, '--input-type=module', '-e', program];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as string[][];
}
