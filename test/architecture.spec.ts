import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { ESLint } from 'eslint';
import tseslint from 'typescript-eslint';
import { architecture, features } from '../eslint.architecture.js';

const ROOT = join(import.meta.dirname, '..');
const SRC = join(ROOT, 'src');

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => /(?<!\.spec)\.ts$/.test(file));
const imports = new Map(files.map((file) => [file, importsOf(file)]));

/** The files of `src/` that a file imports, for values or types: a circle of types is as hard to split. */
function importsOf(file: string): string[] {
  const source = readFileSync(join(SRC, file), 'utf8');
  const targets = [...source.matchAll(/(?:from |import |import\()'(\.[^']+)'/g)].map(([, target]) => target!);
  const paths = targets.map((target) => relative(SRC, join(SRC, dirname(file), target)).replace(/\.js$/, '.ts'));
  return paths.filter((path) => files.includes(path));
}

function reachableFrom(start: string): Set<string> {
  const reached = new Set<string>();
  const open = [...imports.get(start)!];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    open.push(...imports.get(file)!);
  }
  return reached;
}

/** Groups of files that import each other, directly or through others (strongly connected components). */
function importCircles(): string[] {
  const reachable = new Map(files.map((file) => [file, reachableFrom(file)]));
  const circles = files.map((file) => {
    const reached = [...reachable.get(file)!];
    return reached.filter((other) => reachable.get(other)!.has(file)).sort();
  });
  return [...new Set(circles.filter((circle) => circle.length > 0).map((circle) => circle.join(', ')))];
}

describe('the modules of src', () => {
  it('are found with their imports', () => {
    expect([...imports.values()].flat().length).toBeGreaterThan(80);
    expect(imports.get('cookies/cookies.controller.ts')).toContain('cookies/cookies.service.ts');
  });

  it('have no circular imports', () => {
    expect(importCircles()).toEqual([]);
  });

  it('have no folder with a meaningless name', () => {
    const names = files.flatMap((file) => file.split('/').slice(0, -1));
    expect(names.filter((name) => /^(utils?|helpers?|common|shared|constants|misc|lib)$/.test(name))).toEqual([]);
  });
});

describe('the commands that only read or copy', () => {
  /** The packages that a built file loads, also through the files that it imports. */
  function packagesOf(start: string): string[] {
    const packages = new Set<string>();
    const files = new Set([join(ROOT, 'dist/src', start)]);
    for (const file of files) {
      for (const [, name] of readFileSync(file, 'utf8').matchAll(/^(?:import|export) .*?'([^']+)';$/gm)) {
        if (name!.startsWith('.')) files.add(join(dirname(file), name!));
        else packages.add(name!);
      }
    }
    return [...packages];
  }

  it.each(['doctor/doctor', 'export', 'backup/backup', 'set', 'revoke', 'migrate'])(
    '%s loads neither the core of Nest nor its documentation, which would take half of its start',
    (command) => {
      const packages = packagesOf(`cli/${command}.js`);
      expect(packages).toContain('typeorm');
      expect(packages.filter((name) => /^@nestjs\/(core|swagger|typeorm|platform)/.test(name))).toEqual([]);
    },
  );
});

/** Lines that may name cookies: the lists of features, and the service's name, which is also that of a resource. */
const MAY_NAME_COOKIES: Readonly<Record<string, RegExp>> = {
  'app.module.ts': /^import \{ CookiesModule \} from|^ +CookiesModule,$/,
  'features.ts': /^ +COOKIES,$|^import \{ COOKIES \} from|^export const RESOURCES: readonly Resource\[\] = \[/,
  'config/service-name.ts': /^export const SERVICE_(NAME|TITLE) = /,
};

describe('the platform', () => {
  /** The lines of a file that name cookies although they may not. */
  function naming(file: string, source: string): string[] {
    const lines = source.split('\n').filter((line) => /cookie/i.test(line));
    return lines.filter((line) => !MAY_NAME_COOKIES[file]?.test(line)).map((line) => `${file}: ${line.trim()}`);
  }

  it('does not name cookies, so that their feature can be removed, and another one needs none of its code', () => {
    const featureFolders = features();
    const platform = files.filter((file) => !featureFolders.includes(file.split('/')[0]!));
    expect(platform.length).toBeGreaterThan(150);
    expect(platform.flatMap((file) => naming(file, readFileSync(join(SRC, file), 'utf8')))).toEqual([]);
  });

  it('is reported when it names cookies', () => {
    expect(naming('cli/export.ts', "const unit = 'cookies';\n/** As a Cookie. */")).toHaveLength(2);
    expect(naming('app.module.ts', "import { CookiesModule } from './cookies/cookies.module.js';")).toEqual([]);
    expect(naming('app.module.ts', 'const cookies = 1;')).toHaveLength(1);
  });
});

const HTTP = 'src/http/body/raw-body.ts';
const CONTROLLER = 'src/cookies/cookies.controller.ts';
const SERVICE = 'src/cookies/cookies.service.ts';
const DTO = 'src/cookies/dto/cookie.dto.ts';
const EXCHANGE = 'src/resource/exchange.ts';
const ERRORS = 'src/http/errors/api-error.ts';

const DOWN = /Imports go down only/;
const LAYERS = /controller -> service -> repository/;
const TYPEORM = /TypeORM belongs/;
const ENVIRONMENT = /environment/;
const CONNECTIONS = /of src\/http\/connections/;

/** Imports that ESLint must reject: an existing file, the line to add, and the expected message. */
const REJECTED: [circumstance: string, file: string, line: string, message: RegExp][] = [
  ['http imports auth', HTTP, `import { Scopes } from '../auth/scopes.decorator.js';`, DOWN],
  ['http re-exports auth', HTTP, `export { Scopes } from '../auth/scopes.decorator.js';`, DOWN],
  ['http re-exports all of auth', HTTP, `export * from '../auth/principal.js';`, DOWN],
  ['http loads auth when it runs', HTTP, `await import('../auth/principal.js');`, DOWN],
  ['http names a type of auth', HTTP, `type P = import('../auth/principal.js').Principal;`, DOWN],
  ['auth imports a feature', 'src/auth/principal.ts', `import '../cookies/cookies.service.js';`, DOWN],
  ['config imports the database', 'src/config/config.ts', `import '../database/errors.js';`, DOWN],
  [
    'a nested folder imports up',
    'src/database/sqlite/writing/writer.ts',
    `import '../../../http/errors/api-error.js';`,
    DOWN,
  ],
  ['management imports the application', 'src/management/health.ts', `import { createApp } from '../app.js';`, DOWN],
  ['a feature imports the list of features', SERVICE, `import '../features.js';`, DOWN],
  ['a feature imports the command line', SERVICE, `import '../cli/command-errors.js';`, DOWN],
  ['a controller imports a repository', CONTROLLER, `import './cookies.repository.js';`, LAYERS],
  ['a controller imports an entity', CONTROLLER, `import { Cookie } from './cookie.entity.js';`, LAYERS],
  ['an entity imports a DTO', 'src/cookies/cookie.entity.ts', `import './dto/cookie.dto.js';`, /knows no DTO/],
  ['a DTO imports a controller', DTO, `import '../cookies.controller.js';`, LAYERS],
  ['a controller imports TypeORM', CONTROLLER, `import 'typeorm';`, TYPEORM],
  ['a service imports TypeORM', SERVICE, `import '@nestjs/typeorm';`, TYPEORM],
  ['a DTO imports TypeORM', DTO, `import { Column } from 'typeorm';`, TYPEORM],
  ['a service reads the environment', SERVICE, `console.log(process.env.PORT);`, ENVIRONMENT],
  ['app.ts reads the environment', 'src/app.ts', `console.log(process['env']['PORT']);`, ENVIRONMENT],
  ['a layer destructures process', HTTP, `const { env } = process; console.log(env);`, ENVIRONMENT],
  ['a layer imports env', HTTP, `import { env } from 'node:process'; console.log(env);`, ENVIRONMENT],
  [
    'another layer imports the inside of http/connections',
    EXCHANGE,
    `import '../http/connections/connection.js';`,
    CONNECTIONS,
  ],
  ['another folder of http imports it', ERRORS, `import '../connections/connection.js';`, CONNECTIONS],
  ['app.ts imports it', 'src/app.ts', `import './http/connections/connection.js';`, CONNECTIONS],
  ['a module imports an engine', EXCHANGE, `import '../database/sqlite/writing/writer.js';`, /docs\/drivers\.md/],
  [
    'a controller imports by a name of package.json',
    CONTROLLER,
    `import '#cookies/cookie.entity.js';`,
    /relative path/,
  ],
  ['a service imports by a path of tsconfig.json', SERVICE, `import '@/cookies/cookie.entity.js';`, /relative path/],
  ['a migration reads the environment', 'ormconfig.ts', `console.log(process.env.PORT);`, ENVIRONMENT],
];

describe('the rules of ESLint for layers', () => {
  /** Only these rules, because other rules need type information, which takes seconds. */
  const linter = (...folders: Parameters<typeof architecture>) =>
    new ESLint({
      cwd: ROOT,
      overrideConfigFile: true,
      overrideConfig: [
        { files: ['**/*.ts'], languageOptions: { parser: tseslint.parser } },
        ...architecture(...folders),
      ],
    });
  const eslint = linter();

  it('are in the configuration of the project', async () => {
    const rulesOf = async (each: ESLint) => {
      const { rules } = (await each.calculateConfigForFile(join(ROOT, HTTP))) as { rules: Record<string, unknown> };
      return rules['no-restricted-syntax'];
    };
    expect(await rulesOf(eslint)).toBeDefined();
    expect(await rulesOf(new ESLint({ cwd: ROOT }))).toEqual(await rulesOf(eslint));
  });

  async function messagesOf(file: string, line: string, rules = eslint): Promise<string[]> {
    const [result] = await rules.lintText(`${line}\n`, { filePath: join(ROOT, file) });
    const { messages } = result!;
    return messages.filter(({ ruleId }) => ruleId === 'no-restricted-syntax').map(({ message }) => message);
  }

  it.each(REJECTED)('reject that %s', async (_circumstance, file, line, message) => {
    expect(await messagesOf(file, line)).toEqual([expect.stringMatching(message)]);
  });

  // The sources show what else is allowed.
  it('allow that the command line imports a feature', async () => {
    expect(await messagesOf('src/cli/program.ts', `import '../cookies/cookies.service.js';`)).toEqual([]);
  });

  describe('with a second feature', () => {
    const two = linter(['cookies', 'orders']);

    it.each(['cookie.entity', 'cookies.repository', 'cookies.controller', 'dto/cookie.dto'])(
      'reject that its service imports %s of the first',
      async (file) => {
        const line = `import '../cookies/${file}.js';`;
        expect(await messagesOf('src/orders/orders.service.ts', line, two)).toContainEqual(
          expect.stringMatching(/only through the service/),
        );
      },
    );

    it('let its repository import TypeORM, but not its service', async () => {
      const file = 'src/orders/orders.repository.ts';
      expect(await messagesOf(file, `import 'typeorm';`, two)).toEqual([]);
      expect(await messagesOf(file, `import './orders.service.js';`, two)).toEqual([
        expect.stringMatching(/controller -> service -> repository/),
      ]);
    });

    it.each(['cookies.service', 'cookies.module'])('allow that it imports %s of the first', async (file) => {
      expect(await messagesOf('src/orders/orders.module.ts', `import '../cookies/${file}.js';`, two)).toEqual([]);
    });
  });
});
