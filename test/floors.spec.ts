import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const SRC = join(import.meta.dirname, '../src');

/** From the top down. A file imports from its own room and from rooms further down; what is no room here is a feature. */
const FLOORS = [
  '',
  'cli',
  'docs',
  'FEATURES',
  'management',
  'resource',
  'auth',
  'http',
  'storage',
  'database',
  'config',
  'logging',
];

/** In a feature, from the top down: the file's role by its name. */
const ROLES = ['module', 'controller', 'openapi', 'service', 'repository', 'entity'];

interface Import {
  readonly from: string;
  readonly to: string;
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => /(?<!\.spec)\.ts$/.test(file));
const sources = new Map(files.map((file) => [file, readFileSync(join(SRC, file), 'utf8')]));
const imports: Import[] = [...sources].flatMap(([from, text]) =>
  [...text.matchAll(/(?:from|import\() ?'([^']+)'/g)].map(([, target]) => ({
    from,
    to: target!.startsWith('.') ? relative(SRC, join(SRC, dirname(from), target!)).replace(/\.js$/, '.ts') : target!,
  })),
);
const inner = imports.filter(({ to }) => sources.has(to));

function roomOf(file: string): string {
  return file.includes('/') ? file.split('/')[0]! : '';
}

function floorOf(file: string): number {
  const floor = FLOORS.indexOf(roomOf(file));
  return floor < 0 ? FLOORS.indexOf('FEATURES') : floor;
}

const isFeature = (file: string): boolean => FLOORS[floorOf(file)] === 'FEATURES';

function roleOf(file: string): string | undefined {
  if (file.includes('/dto/')) return 'dto';
  return ROLES.find((role) => file.endsWith(`.${role}.ts`));
}

const asText = ({ from, to }: Import): string => `${from} imports ${to}`;

describe('the floors of the code', () => {
  it('sees the imports', () => {
    expect(inner.length).toBeGreaterThan(80);
    expect(inner.map(asText)).toContain('cookies/cookies.controller.ts imports cookies/cookies.service.ts');
  });

  it('are only left downwards', () => {
    expect(inner.filter(({ from, to }) => floorOf(to) < floorOf(from)).map(asText)).toEqual([]);
  });

  it('let one feature use another only through its service', () => {
    const across = inner.filter(({ from, to }) => isFeature(from) && isFeature(to) && roomOf(from) !== roomOf(to));
    expect(across.filter(({ to }) => !['service', 'module'].includes(roleOf(to) ?? '')).map(asText)).toEqual([]);
  });

  it('go from controller to service to repository to entity in a feature', () => {
    const steps = inner.filter(({ from, to }) => isFeature(from) && roomOf(from) === roomOf(to));
    const wrong = steps.filter(({ from, to }) => {
      const [upper, lower] = [roleOf(from) ?? '', roleOf(to) ?? ''];
      if (upper === 'controller') return lower === 'repository' || lower === 'entity';
      if (upper === 'entity') return lower === 'dto';
      if (upper === 'repository') return lower === 'dto';
      if (upper === 'dto') return !['dto', ''].includes(lower);
      return ROLES.includes(upper) && ROLES.includes(lower) && ROLES.indexOf(lower) < ROLES.indexOf(upper);
    });
    expect(wrong.map(asText)).toEqual([]);
  });

  it('keep TypeORM out of controllers, services and DTOs', () => {
    const upper = imports.filter(({ from }) => ['controller', 'service', 'dto'].includes(roleOf(from) ?? ''));
    expect(upper.filter(({ to }) => /typeorm/.test(to)).map(asText)).toEqual([]);
  });

  it('let only the configuration read the environment', () => {
    const readers = [...sources].filter(([, text]) => /process\.env|loadEnvFile/.test(text)).map(([file]) => file);
    expect(readers).toEqual(['config/config.ts']);
  });

  it('have no rooms that explain nothing', () => {
    const names = files.flatMap((file) => file.split('/').slice(0, -1));
    expect(names.filter((name) => /^(utils?|helpers?|common|shared|constants|misc|lib)$/.test(name))).toEqual([]);
  });
});
