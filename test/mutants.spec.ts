import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { loadMutants, mutatedText, type NamedMutant, obstacleOf } from './mutants/program/mutant.js';
import { SmallVolume, unmountBelow } from './support/faults/small-volume.js';
import { temporaryFolder } from './support/service.js';

const ROOT = join(import.meta.dirname, '..');

describe('the mutants', () => {
  let mutants: NamedMutant[];

  beforeAll(async () => {
    mutants = await loadMutants(ROOT);
  });

  it('fit the files and the specs that they name', () => {
    const obstacles = mutants.map((mutant) => `${mutant.name}: ${obstacleOf(ROOT, mutant)}`);
    expect(obstacles.filter((line) => !line.endsWith(': undefined'))).toEqual([]);
    expect(mutants.length).toBeGreaterThan(0);
  });

  it('have names of their own', () => {
    const names = mutants.map(({ name }) => name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    expect(names.filter((name) => !/^[a-z0-9-]+\/[a-z0-9-]+$/.test(name))).toEqual([]);
  });

  it('change their file where they say, and are reported when its text occurs no longer or more than once', () => {
    const [mutant] = mutants as [NamedMutant];
    expect(mutatedText(ROOT, mutant)).toContain(mutant.by);
    expect(obstacleOf(ROOT, { ...mutant, replace: 'no such text anywhere' })).toContain('occurs 0 times');
    expect(obstacleOf(ROOT, { ...mutant, replace: 'import' })).toMatch(/occurs \d+ times/);
    expect(obstacleOf(ROOT, { ...mutant, specs: ['test/none.spec.ts'] })).toContain('no file test/none.spec.ts');
  });
});

(SmallVolume.mountable ? it : it.skip)('a spec that was killed leaves no volume that is in the way of the next', () => {
  const folder = temporaryFolder();
  const script = 'mkdir "$0/a volume" && mount -t tmpfs tmpfs "$0/a volume"';
  expect(spawnSync('sh', ['-c', script, folder]).status).toBe(0);
  expect(() => rmSync(folder, { recursive: true })).toThrow();
  unmountBelow(folder);
  rmSync(folder, { recursive: true });
});
