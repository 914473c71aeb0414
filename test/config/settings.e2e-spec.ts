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

// Where one of these fails: npm run settings
describe('what the documents say of the settings that the platform and the features declare', () => {
  it('.env.example has every variable with its default', () => {
    const example = parseEnv(ENV_EXAMPLE);
    const known = declared.flatMap(({ name, default: value = '', file }) => [
      [name, value],
      ...(file ? [[`${name}_FILE`, '']] : []),
    ]);
    expect(example).toEqual(Object.fromEntries(known));
    expect(loadConfig(example, SETTINGS)).toEqual(loadConfig({}, SETTINGS));
    for (const { about } of declared) expect(ENV_EXAMPLE).toContain(`\n# ${about}\n`);
  });

  it('the README lists every variable with its default', () => {
    const rows = [...README.matchAll(/^\| `([A-Z_]+)`(?:, `[A-Z_]+_FILE`)? *\| *(?:`([^`]*)`)? *\| (.*?) *\|$/gm)];
    const listed = rows.map(([, name, value, about]) => ({ name, default: value, about }));
    expect(listed).toEqual(declared.map(({ name, default: value, about }) => ({ name, default: value, about })));
  });
});

describe('the compose files', () => {
  it.each(['compose.yaml', 'compose.cluster.yaml'])('%s passes on, from .env, what features declare', (name) => {
    const source = readFileSync(join(ROOT, name), 'utf8');
    for (const setting of SETTINGS) expect(source).toContain(`  ${setting.name}: \${${setting.name}:-}\n`);
  });
});

describe('npm run settings', () => {
  it('writes the documents and the compose files as they are, whatever has become of them', async () => {
    const copy = new ProjectCopy();
    try {
      const at = (name: string): string => join(copy.folder, name);
      writeFileSync(at('.env.example'), 'COOKIES_CAPACITY=1\n');
      const stale = README.replace(/^\| `COOKIES_CAPACITY`.*\n/m, '').replace('port of the API;', 'port of something;');
      expect(stale).not.toBe(README);
      writeFileSync(at('README.md'), stale);
      const compose = readFileSync(at('compose.yaml'), 'utf8');
      writeFileSync(at('compose.yaml'), compose.replace(/^ +COOKIES_CAPACITY.*$/m, '      JARS_CAPACITY: 1'));
      expect(await copy.node('scripts/settings.js')).toMatchObject({ status: 0, stderr: '' });
      expect(readFileSync(at('.env.example'), 'utf8')).toBe(ENV_EXAMPLE);
      expect(readFileSync(at('README.md'), 'utf8')).toBe(README);
      expect(readFileSync(at('compose.yaml'), 'utf8')).toBe(compose);
    } finally {
      copy.remove();
    }
  });
});
