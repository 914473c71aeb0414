import { jest } from '@jest/globals';
import { ListTurns, type RunStatement } from './list-turns.js';

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

let now: number;

beforeEach(() => {
  now = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
});

afterEach(() => jest.restoreAllMocks());

/** Blocks the event loop, as a statement does. */
function hold(milliseconds: number): void {
  now += milliseconds;
}

describe('ListTurns', () => {
  it('runs the rest in later turns of the event loop, one share in each, first come first served', async () => {
    const turns = new ListTurns();
    const ran: string[] = [];
    const names = ['a', 'b', 'c', 'd'];
    const all = names.map((name) =>
      turns.list()(() => {
        hold(2);
        return ran.push(name);
      }),
    );
    while (ran.length < names.length) {
      const before = ran.length;
      await turn();
      expect(ran.length - before).toBeLessThanOrEqual(1);
    }
    expect(ran).toEqual(names);
    const results: number[] = [];
    for (const result of all) results.push(await result);
    expect(results).toEqual([1, 2, 3, 4]);
  });

  it('lets a list that has hardly begun pass lists that have taken long, every other time', async () => {
    const turns = new ListTurns();
    const [long, short] = [turns.list(), turns.list()];
    const ran: string[] = [];
    const read = (list: RunStatement, name: string): void =>
      void list(() => {
        hold(2);
        ran.push(name);
      });
    for (let statement = 0; statement < 5; statement++) read(long, 'long');
    for (let statement = 0; statement < 2; statement++) read(short, 'short');
    while (ran.length < 7) await turn();
    expect(ran).toEqual(['long', 'long', 'short', 'long', 'short', 'long', 'long']);
  });

  it('leaves other work as much time as the statements take', async () => {
    const list = new ListTurns().list();
    const events: string[] = [];
    for (let statement = 0; statement < 4; statement++) {
      void list(() => {
        hold(4);
        events.push('statement');
      });
    }
    while (events.filter((event) => event === 'statement').length < 4) {
      await turn();
      hold(1);
      events.push('other');
    }
    expect(events.filter((event) => event === 'other').length).toBeGreaterThanOrEqual(2 * 4);
  });

  it('throws or rejects with the error of the statement, and goes on', async () => {
    const turns = new ListTurns().list();
    const fail = (): never => {
      hold(2);
      throw new Error('corrupt');
    };
    expect(() => turns(fail)).toThrow('corrupt');
    const later = [turns(fail), turns(() => 'read')];
    await expect(later[0]).rejects.toThrow('corrupt');
    await expect(later[1]).resolves.toBe('read');
  });
});
