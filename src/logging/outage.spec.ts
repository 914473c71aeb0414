import { jest } from '@jest/globals';
import { Outage, type OutageOptions } from './outage.js';

describe('Outage', () => {
  let lines: string[];

  function outage(options: Partial<OutageOptions<string>> = {}): Outage<string> {
    return new Outage<string>({
      interval: 1000,
      onStart: (event) => lines.push(`began ${event}`),
      onRepeat: (repeats) => lines.push(`continued ${repeats}`),
      onEnd: ({ count, milliseconds }) => lines.push(`ended after ${Math.round(milliseconds / 1000)} s and ${count}`),
      ...options,
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

  it('continues until isOver returns true, also after an error of isOver', async () => {
    const checks = [() => false, () => Promise.reject(new Error('away')), () => true];
    const away = outage({ isOver: () => checks.shift()!() });
    away.report('a');
    await jest.advanceTimersByTimeAsync(2000);
    away.report('b');
    await jest.advanceTimersByTimeAsync(1000);
    expect(lines).toEqual(['began a', 'continued 1']);
    await jest.advanceTimersByTimeAsync(1000);
    expect(lines.slice(2)).toEqual(['ended after 4 s and 2']);
    expect(checks).toEqual([]);
  });

  it('continues after a report during isOver', async () => {
    const away = outage({
      isOver: () => {
        if (lines.length === 1) away.report('again');
        return true;
      },
    });
    away.report('a');
    await jest.advanceTimersByTimeAsync(1000);
    expect(lines).toEqual(['began a']);
    await jest.advanceTimersByTimeAsync(1000);
    expect(lines).toEqual(['began a', 'continued 1']);
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
