import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { commandBlocks } from './support/project/command-blocks.js';

const ROOT = join(import.meta.dirname, '..');
const FOLDERS = ['src', 'test', 'migrations', 'docs', 'bench', 'deploy', 'scripts', '.ci', '.github', '.devcontainer'];
const TEXT = /\.(ts|js|md|json|ya?ml|sh)$|\/run$|^Dockerfile$/;
const ADR = 'docs/adr';
const DOCS = ['docs/operating.md', 'docs/extending.md', 'docs/typeorm.md', 'docs/security.md'];

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

function filesIn(folder: string): string[] {
  if (!existsSync(join(ROOT, folder))) return [];
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  return names.map((name) => `${folder}/${name}`);
}

const rootFiles = readdirSync(ROOT).filter((name) => statSync(join(ROOT, name)).isFile());
const files = [...rootFiles, ...FOLDERS.flatMap(filesIn)].filter((file) => TEXT.test(file));
const records = readdirSync(join(ROOT, ADR)).filter((name) => name !== 'README.md');

/** `file: name` for every match of the first group in the given files. */
function namesIn(paths: string[], pattern: RegExp): { file: string; name: string }[] {
  return paths.flatMap((file) => [...read(file).matchAll(pattern)].map(([, name]) => ({ file, name: name! })));
}

function missing(names: { file: string; name: string }[]): string[] {
  return names.filter(({ name }) => !existsSync(join(ROOT, name))).map(({ file, name }) => `${file}: ${name}`);
}

describe('the decision records in docs/adr', () => {
  it('exist wherever code or documents name one', () => {
    const names = namesIn(files, /(docs\/adr\/\d{4}[\w.-]*\.md)/g);
    expect(names.length).toBeGreaterThan(2);
    expect(missing(names)).toEqual([]);
  });

  it('exist wherever another record or the index links to one', () => {
    const paths = readdirSync(join(ROOT, ADR)).map((name) => `${ADR}/${name}`);
    const links = namesIn(paths, /\]\((\d{4}[^)]*)\)/g).map(({ file, name }) => ({ file, name: `${ADR}/${name}` }));
    expect(links.length).toBeGreaterThan(records.length);
    expect(missing(links)).toEqual([]);
  });

  it('are all listed in the index, in order and with their titles', () => {
    const lines = records.sort().map((name) => {
      const [, number, title] = /^# (\d+)\. (.+)\n/.exec(read(`${ADR}/${name}`)) ?? [];
      expect(name.slice(0, 4)).toBe(number?.padStart(4, '0'));
      return `- [${name.slice(0, 4)}](${name}) ${title}`;
    });
    expect(read(`${ADR}/README.md`).match(/^- \[.*$/gm)).toEqual(lines);
  });

  it('have a unique number, a date and a status', () => {
    expect(new Set(records.map((name) => Number(name.slice(0, 4)))).size).toBe(records.length);
    const head = /^# \d+\. .+\n\n- Date: \d{4}-\d\d-\d\d\n- Status: accepted\n\n/;
    expect(records.filter((name) => !head.test(read(`${ADR}/${name}`)))).toEqual([]);
  });
});

describe('the documents of the project', () => {
  it('name the file that exports each name that a feature imports', () => {
    const [, section = ''] = /## Where to import from\n([\s\S]*?)\n## /.exec(read('docs/extending.md')) ?? [];
    const rows = [...section.matchAll(/^\| (`.*?) +\| `(src\/\S+)` +\|$/gm)];
    expect(rows.length).toBeGreaterThan(12);
    const wrong = rows.flatMap(([, names, file]) => {
      const exported = [
        ...read(file!).matchAll(/^export (?:async |abstract )*(?:function|const|class|interface|type) (\w+)/gm),
      ];
      const known = new Set(exported.map(([, name]) => name));
      return [...names!.matchAll(/`(\w+)`/g)]
        .filter(([, name]) => !known.has(name))
        .map(([, name]) => `${file}: ${name}`);
    });
    expect(wrong).toEqual([]);
  });

  it('name the existing files to open first for at least ten tasks', () => {
    const table = read('CONTRIBUTING.md').split('## Where to find what')[1] ?? '';
    const rows = [...table.matchAll(/^\| (?!task|-)[^|]+ \| ([^|]+) \|$/gm)].map(([, cell]) => cell!);
    expect(rows.length).toBeGreaterThanOrEqual(10);
    const named = rows.map((row) => [...row.matchAll(/`([^`]+)`/g)].map(([, name]) => name!));
    expect(named.filter((names) => names.length === 0)).toEqual([]);
    expect(named.flat().filter((name) => !existsSync(join(ROOT, name)))).toEqual([]);
  });

  it('describe every folder of src in docs/architecture.md, except those of resources', () => {
    const folders = readdirSync(join(ROOT, 'src'))
      .filter((name) => statSync(join(ROOT, 'src', name)).isDirectory())
      .filter((name) => !readdirSync(join(ROOT, 'src', name)).some((file) => file.endsWith('.resource.ts')));
    const text = read('docs/architecture.md');
    expect(folders.filter((name) => !text.includes(`\`src/${name}/\``))).toEqual([]);
  });

  it('give the reason of every dependency in docs/dependencies.md', () => {
    const manifest = JSON.parse(read('package.json')) as Record<string, object>;
    const { dependencies, optionalDependencies, devDependencies } = manifest;
    const rows = [...read('docs/dependencies.md').matchAll(/^\| `([^`]+)` +\| \S/gm)].map(([, name]) => name);
    const packages = [dependencies, optionalDependencies, devDependencies].map((each) => Object.keys(each!));
    expect(rows.sort()).toEqual(packages.flat().sort());
  });

  it('show each line of the OWASP list and of RFC 8725 in docs/security.md by tests that exist', () => {
    const lines = read('docs/security.md').match(/^\| (?:API\d+|3\.\d+) .*$/gm) ?? [];
    const sections = [...Array(15).keys()].map((index) => `3.${index + 1}`);
    const risks = [...Array(10).keys()].map((index) => `API${index + 1}`);
    expect(lines.map((line) => line.split(' ')[1])).toEqual([...risks, ...sections]);
    const tests = lines.map((line) => [...line.matchAll(/`((?:src|test)\/[\w./-]+\.ts)`, "([^"]+)"/g)]);
    expect(tests.filter((named) => named.length === 0)).toEqual([]);
    const isTest = (file: string, title: string): boolean =>
      ["'", '"', '`'].some((quote) => read(file).includes(`${quote}${title}${quote},`));
    const wrong = tests.flat().filter(([, file, title]) => !isTest(file!, title!));
    expect(wrong.map(([, file, title]) => `${file}: ${title}`)).toEqual([]);
  });

  const documents = files.filter((file) => file.endsWith('.md'));

  it('name only files that exist', () => {
    const names = namesIn(
      documents.filter((file) => file !== 'CHANGELOG.md'),
      /`((?:src|test|migrations|docs|bench|deploy|scripts)\/[\w./-]+)`/g,
    );
    expect(names.length).toBeGreaterThan(20);
    // The guide names files of the new feature that it creates.
    expect(missing(names).filter((name) => !/^docs\/extending\.md: .*orders/i.test(name))).toEqual([]);
  });
});

describe('the command blocks of README.md and docs/operating.md', () => {
  it('are all in the list of test/compose/documents.js', () => {
    const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'test/compose/documents.js'), '--check'], {
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('are valid bash', () => {
    for (const file of ['README.md', 'docs/operating.md']) {
      const blocks = [...commandBlocks(file).values()];
      expect(blocks.length).toBeGreaterThan(3);
      for (const { script } of blocks) execFileSync('bash', ['-n'], { input: script });
    }
  });

  it('name commands of npm that the package has', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const named = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...DOCS]
      .flatMap((file) => [...read(file).matchAll(/npm run (?:--silent )?([\w:]+)/g)])
      .map(([, name]) => name!);
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });

  it('move packages that the tests use to the dependencies of the service, where npm would leave them', () => {
    const { devDependencies } = JSON.parse(read('package.json')) as { devDependencies: Record<string, string> };
    const named = [...DOCS, 'docs/transports.md'].flatMap((file) =>
      [...read(file).matchAll(/`npm install ((?!--save-)[^`]+)`/g)].flatMap(([, names]) => names!.split(' ')),
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => name in devDependencies)).toEqual([]);
  });

  it('that start and test a checkout are run by .ci/run', () => {
    const steps = read('.ci/run');
    for (const step of ['step npm ci', 'tests test --', 'tests run test:processes --']) expect(steps).toContain(step);
    expect(read('.github/workflows/ci.yml')).toContain('- run: .ci/run\n');
  });
});
