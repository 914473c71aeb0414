import { execFileSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';

const MODULE = pathToFileURL('dist/src/server/garbage-collection.js').href;

/**
 * Collections of young objects in a process that makes requests' worth of garbage, of which some is held for a while.
 * @param before what the process does first
 */
function collections(before: string): number {
  const program = `
    import { PerformanceObserver, constants } from 'node:perf_hooks';
    ${before}
    let minor = 0;
    const count = (entries) => {
      for (const { detail } of entries) if (detail.kind === constants.NODE_PERFORMANCE_GC_MINOR) minor += 1;
    };
    const observer = new PerformanceObserver((list) => count(list.getEntries()));
    observer.observe({ entryTypes: ['gc'] });
    const held = [];
    for (let request = 0; request < 10_000; request++) {
      held[request % 16] = Array.from({ length: 400 }, () => ({}));
      if (request % 16 === 0) await new Promise(setImmediate);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
    count(observer.takeRecords());
    console.log(minor);`;
  return Number(execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' }));
}

describe('tuneGarbageCollection', () => {
  it('lets the space of young objects grow at once to where few collections are needed', () => {
    const tuned = collections(`(await import('${MODULE}')).tuneGarbageCollection();`);
    expect(tuned).toBeGreaterThan(0);
    expect(collections('')).toBeGreaterThan(1.5 * tuned);
  });
});
