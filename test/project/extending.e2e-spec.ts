import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ProjectCopy } from '../support/project/project-copy.js';

const ROOT = join(import.meta.dirname, '../..');
const GUIDE = ['docs/extending.md', 'docs/typeorm.md'].map((page) => readFileSync(join(ROOT, page), 'utf8')).join('\n');

/** A name of two words, a property of every kind and option, and property names that statements of the service use. */
const GIFT_CARDS =
  'gift-cards label:text:1..60=none note?:text:100 pieces:int:-5..1000=5 points?:int:0..9 weight:number:0..99.5=0.5 ' +
  'isOpen:bool=true isGift?:bool status:enum:open,paid=open cookieId:ref:cookies code:text:2..9 number:int:1..99 ' +
  'used:bool order?:int:0..9 resource:text:9 price:decimal:10,2,0=1.50 tip?:decimal:5,0,3 day:date lastDay?:date ' +
  'startsAt:instant endsAt?:instant deviceId:uuid batchId?:uuid paper?:enum:plain,striped tone:enum:soft,loud=soft ' +
  'otherId?:ref:cookies address:json:street,city delivery?:json:street --unique code --unique number,day ' +
  '--unique cookieId,startsAt --read-only status,isGift --timestamps --ids uuid';

const OTHERS = [
  GIFT_CARDS,
  // It refers to the first resource and to cookies, and has an irregular plural.
  'people --singular person age:int:0..150 giftCardId:ref:gift-cards cookieId:ref:cookies',
  // Its singular is a keyword of JavaScript, and only its references are unique.
  'switches isOn:bool personId:ref:people cookieId:ref:cookies giftCardId:ref:gift-cards --unique personId --unique cookieId,giftCardId',
];

/** Files that the guide may create or change. A feature must not need a change of any other file. */
const ITS_OWN =
  /^(src\/(orders|jars)(\/|$)|src\/nightly\.ts$|migrations\/\d+-(create|change)-(orders|jars)\.ts$|test\/(on-postgres\/)?(orders|jars))/;

/** Lists to which the generator adds a resource. */
const CHANGED = ['src/app.module.ts', 'src/features.ts'];

const ORDER = { customer: 'Ada', quantity: 500, status: 'shipped', cookieId: 1 };

const importOf = (spec: string): string => `await import('../${spec}.e2e-spec.js');\n`;

const line = (members: object): string => `${JSON.stringify(members)}\n`;

/** One project has the resource of the guide, and others that the generator writes. */
describe('docs/extending.md and docs/typeorm.md', () => {
  let copy: ProjectCopy;
  let original: string[];

  beforeAll(() => {
    copy = new ProjectCopy();
    original = copy.files();
  });

  const sources = (): Map<string, string> =>
    new Map(
      copy
        .files()
        .filter((file) => /\.\w+$/.test(file))
        .map((file) => [file, readFileSync(join(copy.folder, file), 'utf8')]),
    );

  const newSources = (): string[] => copy.files().filter((file) => file.endsWith('.ts') && !original.includes(file));

  function write(path: string, text: string): void {
    mkdirSync(dirname(join(copy.folder, path)), { recursive: true });
    writeFileSync(join(copy.folder, path), text);
  }

  /** Adds a module under "features" with its import, as the guide says. */
  function addModule(name: string, path: string): void {
    const list = readFileSync(join(copy.folder, 'src/app.module.ts'), 'utf8');
    const end = list.indexOf(']', list.indexOf('// features'));
    expect(end).toBeGreaterThan(0);
    const longer = `${list.slice(0, end)}${name},\n      ${list.slice(end)}`;
    write('src/app.module.ts', `import { ${name} } from '${path}';\n${longer}`);
  }

  /** Applies a diff of the guide. Its context and removed lines must occur exactly once. */
  function applyChange(name: string, hunks: string): void {
    const time = /^migrations\/\d+/;
    const path = copy.files().find((file) => file.replace(time, '') === name.replace(time, ''));
    let text = readFileSync(join(copy.folder, path!), 'utf8');
    for (const hunk of hunks.split('@@\n')) {
      const lines = hunk.split('\n').slice(0, -1);
      const without = (sign: string): string =>
        lines
          .filter((line) => !line.startsWith(sign))
          .map((line) => `${line.slice(1)}\n`)
          .join('');
      expect(text.split(without('+'))).toHaveLength(2);
      text = text.replace(without('+'), () => without('-'));
    }
    write(path!, text);
  }

  const changesOf = (folder: string): (readonly [path: string, hunks: string])[] =>
    [...GUIDE.matchAll(/```diff\n--- (\S+)\n([\s\S]*?)```/g)]
      .map(([, path, hunks]) => [path!, hunks!] as const)
      .filter(([path]) => path.startsWith(folder));

  it('prints the output in the guide, and needs nothing but a folder, a line, a migration and a spec', async () => {
    const before = sources();
    const [, command, printed] = /```bash\nnpm run generate -- (.*)\n```\n\n```text\n([\s\S]*?)```/.exec(GUIDE)!;
    const { status, stdout } = await copy.node('scripts/generate.js', ...command!.split(' '));
    const withoutTime = (text: string): string => text.replaceAll(/\d{13}/g, '<time>');
    expect({ status, stdout: withoutTime(stdout) }).toEqual({
      status: 0,
      stdout: expect.stringContaining(withoutTime(printed!)),
    });
    const changed = [...sources()].filter(([file, text]) => before.get(file) !== text).map(([file]) => file);
    expect(changed.filter((file) => !ITS_OWN.test(file))).toEqual(CHANGED);
    expect(changed.filter((file) => file.startsWith('migrations/'))).toHaveLength(1);
  });

  const cli = (...args: string[]) => copy.node('dist/src/cli/main.js', ...args);

  /** Documents the 409 of the referenced resource, as the generator says. */
  function allowReferenced(): void {
    const path = 'src/cookies/cookies.controller.ts';
    const source = readFileSync(join(copy.folder, path), 'utf8')
      .replace('@ApiDelete(COOKIE)', '@ApiDelete(COOKIE, { errors: [STILL_REFERENCED] })')
      .replace('ApiReplace', 'ApiReplace, STILL_REFERENCED');
    expect(source).toContain('[STILL_REFERENCED]');
    write(path, source);
  }

  it('has a command that writes a resource with every kind of property', async () => {
    for (const resource of OTHERS) {
      const written = await copy.node('scripts/generate.js', 'resource', ...resource.split(' '));
      expect(written).toMatchObject({ status: 0 });
    }
    allowReferenced();
    await copy.program('prettier/bin/prettier.cjs', '--check', ...newSources(), ...CHANGED);
  });

  it('has a resource of the command that stores records before the guide changes it', async () => {
    // The guide changes the migration of a new resource. This migration runs before the other changes.
    for (const [path, hunks] of changesOf('migrations/')) applyChange(path, hunks);
    copy.compile();
    write('cookies.ndjson', line({ flavor: 'vanilla', size: 'small', wish: 'x' }));
    write('orders.ndjson', line({ ...ORDER, quantity: 1 }));
    expect(await cli('import', 'cookies', 'cookies.ndjson')).toMatchObject({ status: 0 });
    expect(await cli('import', 'orders', 'orders.ndjson')).toMatchObject({ status: 0 });
  });

  it('has files that pass the checks and their specs, on both engines', async () => {
    const files = [...GUIDE.matchAll(/```ts\n\/\/ ((?:src|test|migrations)\/\S+)\n([\s\S]*?)```/g)];
    expect(files.length).toBeGreaterThan(12);
    for (const [, path, text] of files) {
      expect(path).toMatch(ITS_OWN);
      write(path!, text!);
    }
    const changes = changesOf('src/');
    expect(changes).toHaveLength(7);
    for (const [path, hunks] of changes) applyChange(path, hunks);
    addModule('JarsModule', './jars/jars.module.js');
    const onPostgres = 'test/on-postgres/orders.e2e-spec.ts';
    write(onPostgres, readFileSync(join(copy.folder, onPostgres), 'utf8') + importOf('orders-and-cookies'));

    const tsconfig = JSON.parse(readFileSync(join(copy.folder, 'tsconfig.json'), 'utf8'));
    const specs = newSources().filter((file) => file.startsWith('test/'));
    const include = ['src', 'migrations', 'ormconfig.ts', ...specs];
    write('tsconfig.json', JSON.stringify({ ...tsconfig, include, exclude: ['**/*.spec.ts'] }));
    await copy.program('typescript/bin/tsc', '--noEmit');
    await copy.program('typescript/bin/tsc', '--noEmit', '--strict', 'false');
    copy.compile();
    // ESLint includes the rules for layers.
    await copy.program('eslint/bin/eslint.js', ...newSources(), ...CHANGED);
    // The specs of the platform hold for more resources, too. Together, because loading the application takes long.
    const together = ['orders', 'orders-and-cookies', 'jars', 'gift-cards', 'openapi/openapi'];
    write('test/together/extended.e2e-spec.ts', together.map(importOf).join(''));
    const printed = await copy.program('jest/bin/jest.js', '-w', '2', 'together/extended', onPostgres);
    expect(printed).toMatch(/Test Suites: 2 passed, 2 total/);
    expect(printed).toMatch(/Tests: +[0-9]+ passed, [0-9]+ total/);
  }, 900_000);

  it('has migrations that keep the records, and leave no changes for migration:generate', async () => {
    // What `migration:run` and `migration:revert` do, in one process.
    const script = `
      const { default: source } = await import('./dist/ormconfig.js');
      await source.initialize();
      for (const each of ['runMigrations', 'undoLastMigration', 'undoLastMigration', 'runMigrations']) await source[each]();
      await source.destroy();`;
    expect(await copy.node('--input-type=module', '--eval', script)).toMatchObject({ status: 0 });
    const exported = JSON.parse((await cli('export', 'orders')).stdout) as unknown;
    expect(exported).toEqual({ id: 1, ...ORDER, quantity: 1, note: null });
    const args = ['migration:generate', '--esm', '-d', 'dist/ormconfig.js', 'migrations/more-jars'];
    const { status, stdout } = await copy.node('node_modules/typeorm/cli.js', ...args);
    expect({ status, stdout }).toEqual({ status: 1, stdout: expect.stringContaining('No changes in database schema') });
    expect(readdirSync(join(copy.folder, 'migrations')).filter((name) => name.includes('more-jars'))).toEqual([]);
  });

  it('has a program of its own that uses a service of a feature', async () => {
    const { status, stdout } = await copy.node('dist/src/nightly.js');
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/id: 1, grams: \d+/) });
  });

  it('has a migration for an EntitySchema, too', async () => {
    mkdirSync(join(copy.folder, 'dist/src/notes'));
    const columns = `{ id: { type: 'integer', primary: true, generated: true } }`;
    const schema = `new EntitySchema({ name: 'Note', tableName: 'notes', columns: ${columns} })`;
    write('dist/src/notes/note.entity.js', `import { EntitySchema } from 'typeorm';\nexport const Note = ${schema};\n`);
    const args = ['migration:generate', '--esm', '--dryrun', '-d', 'dist/ormconfig.js', 'migrations/notes'];
    expect(await copy.program('typeorm/cli.js', ...args)).toContain('CREATE TABLE "notes"');
    rmSync(join(copy.folder, 'dist/src/notes'), { recursive: true });
  });

  it('has a rule that also holds for an import, whose error names the line', async () => {
    write('orders.ndjson', line({ ...ORDER, quantity: 1 }) + line(ORDER).repeat(3));
    for (const options of [[], ['--atomic']]) {
      const { status, stderr } = await cli('import', 'orders', 'orders.ndjson', ...options);
      const wrong = 'Line 4 is wrong: "quantity" must be less than 500: 2 large orders of cookie 1 are on their way.';
      expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining(wrong) });
    }
  });

  it('quotes messages of the code', () => {
    const table = GUIDE.slice(GUIDE.indexOf('## Common mistakes'), GUIDE.indexOf('# Ordinary TypeORM\n'));
    const quoted = [...table.matchAll(/"([^"]{20,})"/g)].map(([, message]) => message!);
    expect(quoted.length).toBeGreaterThan(5);
    const code = [...sources().values(), readFileSync(join(ROOT, 'eslint.architecture.js'), 'utf8')].join('\n');
    expect(quoted.filter((message) => !code.includes(message))).toEqual([]);
  });
});
