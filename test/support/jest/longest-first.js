import Sequencer from '@jest/test-sequencer';

/**
 * Runs specs first that are short files and take long, because they only import others. Jest goes by the size of a file
 * until it knows durations, which a clean checkout never does, and one worker would run the last of them alone.
 */
export default class LongestFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    if (sorted.some(({ duration }) => duration !== undefined)) return sorted;
    const isLong = ({ path }) => /\/test\/(on-postgres|project)\//.test(path);
    return [...sorted.filter(isLong), ...sorted.filter((test) => !isLong(test))];
  }
}
