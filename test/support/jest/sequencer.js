import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/** Specs that only import others, copy the project or start many processes: they take longer than their size tells. */
const LONG =
  /\/test\/(on-postgres|project|together)\/|\/(cli-interrupted|full-disk|operating|start|stopping|worker-processes)\./;

/**
 * Runs long specs first. Jest goes by the size of a file until it knows durations, which a clean checkout never does,
 * and one worker would run the last of them alone. A spec that a spec in `test/together` imports runs only there.
 */
export default class SpecSequencer extends Sequencer {
  sort(tests) {
    const groups = tests.filter(({ path }) => path.includes('/test/together/'));
    const members = new Set(groups.flatMap(({ path }) => importsOf(path)));
    const sorted = super.sort(tests.filter(({ path }) => !members.has(path)));
    if (sorted.some(({ duration }) => duration !== undefined)) return sorted;
    const isLong = ({ path }) => LONG.test(path);
    return [...sorted.filter(isLong), ...sorted.filter((test) => !isLong(test))];
  }
}

function importsOf(path) {
  const imports = readFileSync(path, 'utf8').matchAll(/import\('(.+)\.js'\)/g);
  return [...imports].map(([, name]) => resolve(path, '..', `${name}.ts`));
}
