import Sequencer from '@jest/test-sequencer';

/** Specs that only import others, copy the project or start many processes: they take longer than their size tells. */
const LONG =
  /\/test\/(on-postgres|project)\/|\/(cli-import|cli-interrupted|full-disk|operating|start|stopping|worker-processes)\./;

/**
 * Runs long specs first. Jest goes by the size of a file until it knows durations, which a clean checkout never does,
 * and one worker would run the last of them alone.
 */
export default class LongestFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    if (sorted.some(({ duration }) => duration !== undefined)) return sorted;
    const isLong = ({ path }) => LONG.test(path);
    return [...sorted.filter(isLong), ...sorted.filter((test) => !isLong(test))];
  }
}
