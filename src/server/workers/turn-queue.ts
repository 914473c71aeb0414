import type { MessageToPrimary, MessageToWorker } from './messages.js';

type TurnMessage = Extract<MessageToPrimary, { type: 'writeTurn' }>;

/** Who may have a turn: a `WorkerProcess`. */
interface Taker {
  send(message: MessageToWorker): void;
}

/** Whose turn it is to write to SQLite's file: first come, first served. */
export class TurnQueue {
  private holder?: Taker;
  private readonly waiting = new Set<Taker>();

  receive(worker: Taker, { ends, wants }: TurnMessage): void {
    if (ends && this.holder === worker) this.holder = undefined;
    if (wants) this.waiting.add(worker);
    this.next();
  }

  /** A worker has ended; it has no turn any more. */
  remove(worker: Taker): void {
    this.waiting.delete(worker);
    if (this.holder === worker) this.holder = undefined;
    this.next();
  }

  private next(): void {
    const [first] = this.waiting;
    if (first === undefined) return;
    if (this.holder !== undefined) {
      // One that holds it and was told before knows.
      if (this.waiting.size === 1) this.holder.send({ type: 'othersWait' });
      return;
    }
    this.waiting.delete(first);
    this.holder = first;
    first.send({ type: 'yourWriteTurn', othersWait: this.waiting.size > 0 });
  }
}
