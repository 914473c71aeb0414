import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from '@swc/core';
import { Locator, readMutants } from './mutants/program/mutant.js';
import { SmallVolume, unmountBelow } from './support/faults/small-volume.js';
import { temporaryFolder } from './support/service.js';

const ROOT = join(import.meta.dirname, '..');
const TYPESCRIPT = { jsc: { parser: { syntax: 'typescript', decorators: true } } } as const;

describe('the mutants', () => {
  const mutants = readMutants(ROOT);
  const locator = new Locator(ROOT);

  it.each(mutants.map((mutant) => [mutant.name, mutant] as const))(
    '%s fits one place in src, still parses, and has its specs',
    (_name, mutant) => {
      const located = locator.locate(mutant);
      expect(locator.mutated(located)).not.toBe(locator.original(located));
      expect(located.specFiles).not.toEqual([]);
      expect(() => transformSync(locator.mutated(located), TYPESCRIPT)).not.toThrow();
    },
  );

  it('are at most 150, each with its own name', () => {
    const names = mutants.map(({ name }) => name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    expect(names.length).toBeLessThanOrEqual(150);
  });
});

(SmallVolume.mountable ? it : it.skip)('a killed spec leaves no volume that the next spec cannot remove', () => {
  const folder = temporaryFolder();
  const script = 'mkdir "$0/a volume" && mount -t tmpfs tmpfs "$0/a volume"';
  expect(spawnSync('sh', ['-c', script, folder]).status).toBe(0);
  expect(() => rmSync(folder, { recursive: true })).toThrow();
  unmountBelow(folder);
  rmSync(folder, { recursive: true });
});
