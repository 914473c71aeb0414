import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from './service.js';

const ROOT = join(import.meta.dirname, '..');
const PROJECT = ['src', 'migrations', 'test', 'ormconfig.ts', 'package.json', 'nest-cli.json', 'jest.config.js'];
const TOOLS = ['tsconfig.json', 'tsconfig.build.json', 'eslint.config.js', 'eslint.architecture.js'];
const run = promisify(execFile);

describe('docs/extending.md', () => {
  let copy: string;

  /** Runs a program of the copy as its npm scripts do. */
  const program = (path: string, ...args: string[]) =>
    run(process.execPath, ['--experimental-vm-modules', join('node_modules', path), ...args], {
      cwd: copy,
      env: { PATH: process.env['PATH'] },
    });

  beforeAll(() => {
    copy = temporaryFolder();
    for (const name of [...PROJECT, ...TOOLS]) {
      cpSync(join(ROOT, name), join(copy, name), { recursive: true });
    }
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  });

  afterAll(() => rmSync(copy, { recursive: true }));

  it('adds a feature with a folder, a line, a migration and a spec, and nothing else', async () => {
    const guide = readFileSync(join(ROOT, 'docs/extending.md'), 'utf8');
    const files = [...guide.matchAll(/```ts\n\/\/ ((?:src|test)\/\S+)\n([\s\S]*?)```/g)];
    expect(files.length).toBeGreaterThan(7);
    for (const [, path, text] of files) {
      mkdirSync(dirname(join(copy, path!)), { recursive: true });
      writeFileSync(join(copy, path!), text!);
    }
    const list = join(copy, 'src/app.module.ts');
    // Whatever features there are already: the list of modules ends with them.
    const source = readFileSync(list, 'utf8');
    const end = source.indexOf(']', source.indexOf('// features'));
    expect(end).toBeGreaterThan(0);
    const line = `${source.slice(0, end)}JarsModule,\n      ${source.slice(end)}`;
    writeFileSync(list, `import { JarsModule } from './jars/jars.module.js';\n${line}`);

    await program('@nestjs/cli/bin/nest.js', 'build');
    await program('typeorm/cli.js', 'migration:run', '-d', 'dist/ormconfig.js');
    await program('typeorm/cli.js', 'migration:generate', '--esm', '-d', 'dist/ormconfig.js', 'migrations/create-jars');
    expect(readdirSync(join(copy, 'migrations'))).toContainEqual(expect.stringMatching(/-create-jars\.ts$/));
    await program('eslint/bin/eslint.js', 'src/jars');
    const { stderr } = await program(
      'jest/bin/jest.js',
      '--runInBand',
      'test/jars',
      'test/architecture',
      'test/openapi',
    );
    expect(stderr).toMatch(/Tests: +[0-9]+ passed, [0-9]+ total/);
  }, 240_000);
});
