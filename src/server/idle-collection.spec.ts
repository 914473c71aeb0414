import { spawnSync } from 'node:child_process';

const INTERVAL = 100;

/** In a process of its own, whose heap nobody else uses: prints its size before, in and after a burst. */
const BURST = `
  import { setTimeout as sleep } from 'node:timers/promises';
  import { getHeapStatistics } from 'node:v8';
  import { collectWhenCalm } from '${new URL('../../dist/src/server/idle-collection.js', import.meta.url).href}';
  const size = () => getHeapStatistics().total_heap_size;
  const hasStarted = process.argv[1] === 'collect';
  if (hasStarted) collectWhenCalm(${INTERVAL});
  await sleep(${3 * INTERVAL});
  const before = size();
  let burst = Array.from({ length: 3_000_000 }, (_, index) => ({ index }));
  const during = size();
  burst = undefined;
  for (let look = 0; look < 50 && size() > 0.5 * during; look++) await sleep(${INTERVAL});
  console.log(JSON.stringify({ before, during, after: size() }));`;

function sizes(argument: string): Record<'before' | 'during' | 'after', number> {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', BURST, argument], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as Record<'before' | 'during' | 'after', number>;
}

describe('the heap after a burst', () => {
  it('is given back once the service is calm', () => {
    const { before, during, after } = sizes('collect');
    expect(during).toBeGreaterThan(2 * before);
    expect(after).toBeLessThan(0.5 * during);
  });

  it('would be kept otherwise', () => {
    const { during, after } = sizes('');
    expect(after).toBeGreaterThan(0.9 * during);
  });
});
