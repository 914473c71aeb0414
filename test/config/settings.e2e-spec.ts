import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { allSettings, loadConfig } from '../../src/config/config.js';
import { SETTINGS } from '../../src/features.js';
import { ProjectCopy } from '../support/project/project-copy.js';

const ROOT = join(import.meta.dirname, '../..');
const ENV_EXAMPLE = readFileSync(join(ROOT, '.env.example'), 'utf8');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const declared = allSettings(SETTINGS);

// If one of these tests fails, run `npm run settings`.
describe('the documents of the settings of the platform and the features', () => {
  it('.env.example has every variable with its default', () => {
    const example = parseEnv(ENV_EXAMPLE);
    const known = declared.flatMap(({ name, default: value = '', file }) => [
      [name, value],
      ...(file ? [[`${name}_FILE`, '']] : []),
    ]);
    expect(example).toEqual(Object.fromEntries(known));
    expect(loadConfig(example, SETTINGS)).toEqual({ ...loadConfig({}, SETTINGS), given: expect.any(Set) });
    for (const { about } of declared) expect(ENV_EXAMPLE).toContain(`\n# ${about}\n`);
  });

  it('the README lists every variable with its default', () => {
    const rows = [...README.matchAll(/^\| `([A-Z_]+)`(?:, `[A-Z_]+_FILE`)? *\| *(?:`([^`]*)`)? *\| (.*?) *\|$/gm)];
    const listed = rows.map(([, name, value, about]) => ({ name, default: value, about }));
    expect(listed).toEqual(declared.map(({ name, default: value, about }) => ({ name, default: value, about })));
  });
});

describe('the compose files', () => {
  const read = (name: string): string => readFileSync(join(ROOT, name), 'utf8');

  it.each(['compose.yaml', 'compose.cluster.yaml'])(
    '%s passes every setting in .env on but those of a container',
    (name) => {
      const compose = read(name);
      expect(compose).toMatch(/^ {2,4}env_file: \[\{ path: \.env, required: false \}\]$/m);
      const [, image = ''] = /^ENV (NODE_ENV=.*)$/m.exec(read('Dockerfile'))!;
      for (const [variable] of image.matchAll(/\w+(?==)/g))
        expect(compose).toMatch(new RegExp(`^ {2,6}${variable}: `, 'm'));
    },
  );

  it('have their own variables, which the service does not report as misspelt settings', () => {
    const source = read('compose.yaml') + read('compose.cluster.yaml');
    const names = [...source.matchAll(/\$\{(\w+)/g)].map(([, name]) => name!);
    expect(names).toContain('PUBLISH');
    const environment = Object.fromEntries([...names, 'COMPOSE_FILE', 'COMPOSE_PROFILES'].map((name) => [name, 'x']));
    expect(loadConfig(environment, SETTINGS)).toEqual(loadConfig({}, SETTINGS));
  });
});

it('npm run settings writes the documents as they are, even if they were changed', async () => {
  const copy = new ProjectCopy();
  const at = (name: string): string => join(copy.folder, name);
  writeFileSync(at('.env.example'), 'COOKIES_CAPACITY=1\n');
  const stale = README.replace(/^\| `COOKIES_CAPACITY`.*\n/m, '').replace('port of the API;', 'port of something;');
  expect(stale).not.toBe(README);
  writeFileSync(at('README.md'), stale);
  expect(await copy.node('scripts/settings.js')).toMatchObject({ status: 0, stderr: '' });
  expect(readFileSync(at('.env.example'), 'utf8')).toBe(ENV_EXAMPLE);
  expect(readFileSync(at('README.md'), 'utf8')).toBe(README);
});
