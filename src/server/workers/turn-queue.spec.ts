import { setImmediate as nextTurnOfLoop, setTimeout as sleep } from 'node:timers/promises';
import type { MessageToPrimary, MessageToWorker } from './messages.js';
import { PrimaryTurns } from './primary-turns.js';
import { TurnQueue } from './turn-queue.js';

/** A worker whose messages take one turn of the event loop each way. */
class Participant {
  readonly sent: MessageToPrimary[] = [];
  private readonly turns: PrimaryTurns;

  constructor(
    private readonly name: string,
    queue: TurnQueue,
    private readonly begun: string[],
  ) {
    this.turns = new PrimaryTurns((message) => {
      this.sent.push(message);
      setImmediate(() => message.type === 'writeTurn' && queue.receive(this, message));
    });
  }

  send(message: MessageToWorker): void {
    setImmediate(() => this.turns.receive(message));
  }

  /** Runs transactions one after the other, each of which takes a turn of the event loop. */
  async write(transactions: number): Promise<void> {
    for (let done = 0; done < transactions; done++) {
      await new Promise<void>((resolve) => {
        const begin = (): void => {
          if (this.turns.begin(begin)) resolve();
        };
        begin();
      });
      this.begun.push(this.name);
      await nextTurnOfLoop();
    }
    this.turns.idle();
  }

  hold(): void {
    this.turns.begin(() => this.turns.begin(() => {}));
  }
}

describe('the turns of workers that write', () => {
  let queue: TurnQueue;
  let begun: string[];
  let a: Participant;
  let b: Participant;
  let c: Participant;

  beforeEach(() => {
    queue = new TurnQueue();
    begun = [];
    [a, b, c] = ['a', 'b', 'c'].map((name) => new Participant(name, queue, begun)) as [
      Participant,
      Participant,
      Participant,
    ];
  });

  it('go round while several want one, each for one transaction', async () => {
    await Promise.all([a.write(20), b.write(20), c.write(20)]);
    // The first has its turn before the others have asked.
    const settled = begun.slice(6, 54);
    expect(settled.length).toBe(48);
    for (let index = 3; index < settled.length; index++) expect(settled[index]).toBe(settled[index - 3]);
    expect(new Set(settled.slice(0, 3)).size).toBe(3);
  });

  it('cost one that writes alone a single message', async () => {
    await a.write(100);
    expect(a.sent).toEqual([{ type: 'writeTurn', ends: false, wants: true }]);
  });

  it('pass on from one that is idle, and from one that has ended', async () => {
    await a.write(1);
    await b.write(1);
    c.hold();
    await sleep(20);
    queue.remove(c);
    await a.write(1);
    expect(begun).toEqual(['a', 'b', 'a']);
  });

  it('are waited for 100 ms at most', async () => {
    a.hold();
    await sleep(20);
    const began = performance.now();
    await b.write(1);
    expect(performance.now() - began).toBeGreaterThanOrEqual(95);
    expect(begun).toEqual(['b']);
  });
});
