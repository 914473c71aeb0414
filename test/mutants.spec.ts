import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from '@swc/core';
import { Locator, parseMutants, readMutants } from './mutants/program/mutant.js';
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

  it.each([
    ['a text that is not in src', 'specs config\n\nx: y\n- no such text', 'its text occurs 0 times'],
    ['a text that is in many files', 'specs config\n\nx: y\n- import', /its text occurs \d{2,} times/],
    ['no text', 'specs config\n\nx: y', 'it changes nothing'],
    ['a spec that does not exist', 'specs none\n\nx: y\n- SHORTEST = 32\n+ 1', '0 specs are named none'],
  ])('with %s is reported', (_circumstance, text, message) => {
    const [mutant] = parseMutants('test', text);
    expect(() => locator.locate(mutant!)).toThrow(message);
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
