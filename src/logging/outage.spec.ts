import { jest } from '@jest/globals';
import { Outage } from './outage.js';

describe('Outage', () => {
  let lines: string[];

  function outage(): Outage {
    return new Outage({
      interval: 1000,
      onStart: (event) => lines.push(`began ${event}`),
      onRepeat: (repeats) => lines.push(`continued ${repeats}`),
      onEnd: ({ count, milliseconds }) => lines.push(`ended after ${Math.round(milliseconds / 1000)} s and ${count}`),
    });
  }

  beforeEach(() => {
    lines = [];
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  it('passes on the first report, counts the others, and reports its end', async () => {
    const disk = outage();
    disk.report('a');
    disk.report('b');
    disk.report('c');
    expect(lines).toEqual(['began a']);
    await jest.advanceTimersByTimeAsync(1000);
    disk.report('d');
    await jest.advanceTimersByTimeAsync(1000);
    expect(lines).toEqual(['began a', 'continued 2', 'continued 1']);
    await jest.advanceTimersByTimeAsync(5000);
    expect(lines.slice(3)).toEqual(['ended after 3 s and 4']);
    disk.report('e');
    await jest.advanceTimersByTimeAsync(1000);
    expect(lines.slice(4)).toEqual(['began e', 'ended after 1 s and 1']);
  });

  it('reports nothing after close()', async () => {
    const disk = outage();
    disk.report('a');
    disk.close();
    disk.report('b');
    await jest.advanceTimersByTimeAsync(5000);
    expect(lines).toEqual(['began a']);
  });
});
