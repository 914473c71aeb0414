import { jest } from '@jest/globals';
import { Episode, type EpisodeOptions } from './episode.js';

describe('Episode', () => {
  let lines: string[];

  function episode(options: Partial<EpisodeOptions<string>> = {}): Episode<string> {
    return new Episode<string>({
      interval: 1000,
      began: (event) => lines.push(`began ${event}`),
      continued: (repeats, { count }) => lines.push(`continued ${repeats} of ${count}`),
      ended: ({ count, milliseconds }) => lines.push(`ended after ${Math.round(milliseconds / 1000)} s and ${count}`),
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

  it('passes on the first report, counts the others, and says when it is over', async () => {
    const disk = episode();
    disk.report('a');
    disk.report('b');
    disk.report('c');
    expect(lines).toEqual(['began a']);
    await jest.advanceTimersByTimeAsync(1000);
    disk.report('d');
    await jest.advanceTimersByTimeAsync(1000);
    expect(lines).toEqual(['began a', 'continued 2 of 3', 'continued 1 of 4']);
    await jest.advanceTimersByTimeAsync(5000);
    expect(lines.slice(3)).toEqual(['ended after 3 s and 4']);
    disk.report('e');
    await jest.advanceTimersByTimeAsync(1000);
    expect(lines.slice(4)).toEqual(['began e', 'ended after 1 s and 1']);
  });

  it('goes on until isOver says so, and through its failures', async () => {
    const checks = [() => false, () => Promise.reject(new Error('away')), () => true];
    const away = episode({ isOver: () => checks.shift()!() });
    away.report('a');
    await jest.advanceTimersByTimeAsync(2000);
    away.report('b');
    await jest.advanceTimersByTimeAsync(1000);
    expect(lines).toEqual(['began a', 'continued 1 of 2']);
    await jest.advanceTimersByTimeAsync(1000);
    expect(lines.slice(2)).toEqual(['ended after 4 s and 2']);
    expect(checks).toEqual([]);
  });

  it('goes on when it is reported while isOver is asked', async () => {
    const away = episode({
      isOver: () => {
        if (lines.length === 1) away.report('again');
        return true;
      },
    });
    away.report('a');
    await jest.advanceTimersByTimeAsync(1000);
    expect(away.isOpen).toBe(true);
  });

  it('says nothing after it is closed', async () => {
    const disk = episode();
    disk.report('a');
    disk.close();
    disk.report('b');
    await jest.advanceTimersByTimeAsync(5000);
    expect(lines).toEqual(['began a']);
  });
});
