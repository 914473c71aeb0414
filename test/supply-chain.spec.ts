import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

interface Locked {
  readonly name?: string;
  readonly version: string;
  readonly license?: string;
  readonly dev?: boolean;
}

const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> };
const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
const nameOf = (path: string): string => packages[path]!.name ?? path.split('node_modules/').at(-1)!;
/** The paths of packages that the service may need at run time. */
const production = Object.keys(packages).filter((path) => path !== '' && !packages[path]!.dev);

/** Licences that permit use in closed software and ask for no more than a notice. */
const PERMISSIVE = ['MIT', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'BlueOak-1.0.0', 'Python-2.0'];

/** Packages whose licence the lock file does not know, with the place that states it. */
const STATED_ELSEWHERE: Record<string, string> = {
  'passport-strategy': 'MIT: `licenses` of its package.json, the old form, and its file LICENSE',
  pause: 'MIT: its Readme.md; its package.json names none',
};

describe('the bill of materials', () => {
  const { bomFormat, components } = JSON.parse(
    execFileSync(process.execPath, ['scripts/sbom.js'], { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 }),
  ) as { bomFormat: string; components: { name: string; version: string; purl: string; licenses?: object[] }[] };
  const named = new Set(components.map(({ purl }) => decodeURIComponent(purl)));

  it('is CycloneDX, and has every production dependency and Node, each with its version', () => {
    expect(bomFormat).toBe('CycloneDX');
    const wanted = Object.keys(dependencies).map((name) => {
      const path = `node_modules/${name}`;
      return `pkg:npm/${nameOf(path)}@${packages[path]!.version}`;
    });
    expect([...wanted, `pkg:generic/node@${process.versions.node}`].filter((purl) => !named.has(purl))).toEqual([]);
  });

  it('has their dependencies in turn, and no development dependency', () => {
    const locked = new Set(production.map((path) => `pkg:npm/${nameOf(path)}@${packages[path]!.version}`));
    const [, ...listed] = components.map(({ purl }) => decodeURIComponent(purl));
    expect(listed.length).toBeGreaterThan(150);
    expect(listed.filter((purl) => !locked.has(purl))).toEqual([]);
    for (const name of ['@borewit/text-codec', 'pg-protocol', 'tslib']) {
      expect(components.map((component) => component.name)).toContain(name);
    }
  });

  it('describes the content of the image, after everything else has been removed', () => {
    const [, steps = ''] = /AS dependencies\n([\s\S]*?)\nFROM /.exec(read('Dockerfile')) ?? [];
    expect(steps.match(/^RUN .*$/gm)?.at(-1)).toBe('RUN node scripts/sbom.js > sbom.cdx.json');
    expect(read('Dockerfile')).toContain('\nCOPY --from=dependencies /app/sbom.cdx.json ./\n');
    expect(read('.dockerignore')).toContain('\n!scripts/sbom.js\n');
  });
});

describe('the licences of production dependencies', () => {
  /** A package with a choice of licences must offer a permissive one. */
  const isPermissive = (license = ''): boolean =>
    license
      .replaceAll(/[()]/g, '')
      .split(' OR ')
      .some((one) => PERMISSIVE.includes(one));

  it('are permissive', () => {
    const others = production.filter((path) => !isPermissive(packages[path]!.license));
    expect(others.map(nameOf).sort()).toEqual(Object.keys(STATED_ELSEWHERE));
  });
});
