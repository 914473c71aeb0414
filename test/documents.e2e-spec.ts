import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandBlocks } from './support/project/command-blocks.js';

const ROOT = join(import.meta.dirname, '..');
const DOCS = ['docs/operating.md', 'docs/extending.md', 'docs/typeorm.md', 'docs/security.md'];
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

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

  it('that start and test a checkout are run by .ci/run', () => {
    const steps = read('.ci/run');
    for (const step of ['step npm ci', 'tests test --', 'tests run test:processes --']) expect(steps).toContain(step);
    expect(read('.github/workflows/ci.yml')).toContain('- run: .ci/run\n');
  });
});
