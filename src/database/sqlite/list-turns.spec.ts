import { ListTurns } from './list-turns.js';

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Holds the event loop, as a statement does. */
function hold(milliseconds: number): void {
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
}

describe('ListTurns', () => {
  it('runs immediately while the share lasts', () => {
    const turns = new ListTurns(50);
    expect([turns.run(() => 'a'), turns.run(() => 'b')]).toEqual(['a', 'b']);
  });

  it('runs the rest in later turns of the event loop, one share in each, first come first served', async () => {
    const turns = new ListTurns(1);
    const ran: string[] = [];
    const names = ['a', 'b', 'c', 'd'];
    const all = names.map((name) =>
      turns.run(() => {
        hold(1);
        return ran.push(name);
      }),
    );
    for (let count = 1; count <= names.length; count++) {
      expect(ran).toEqual(names.slice(0, count));
      await turn();
    }
    const results: number[] = [];
    for (const result of all) results.push(await result);
    expect(results).toEqual([1, 2, 3, 4]);
  });

  it('throws or rejects with the error of the statement, and goes on', async () => {
    const turns = new ListTurns(1);
    const fail = (): never => {
      hold(1);
      throw new Error('corrupt');
    };
    expect(() => turns.run(fail)).toThrow('corrupt');
    const later = [turns.run(fail), turns.run(() => 'read')];
    await expect(later[0]).rejects.toThrow('corrupt');
    await expect(later[1]).resolves.toBe('read');
  });
});
