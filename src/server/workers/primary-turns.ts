import type { WriteTurns } from '../../database/sqlite/writing/write-turns.js';
import type { MessageToPrimary, MessageToWorker } from './messages.js';

/** Milliseconds after which a worker writes without its turn: SQLite's lock keeps the data safe, the turn is for fairness only. */
const LONGEST_WAIT = 100;

/**
 * The turns of a worker, which the primary gives (`turn-queue.ts`). A turn lasts one transaction of SQLite while others wait, and
 * else until somebody asks for it, so that a worker that writes alone sends no messages.
 */
export class PrimaryTurns implements WriteTurns {
  private hasTurn = false;
  private hasAsked = false;
  private othersWait = false;
  /** Whether a transaction has begun in this turn. */
  private isUsed = false;
  private isOpen = false;
  private resume?: () => void;
  private mayGoAhead = false;
  private timer?: NodeJS.Timeout;

  constructor(private readonly send: (message: MessageToPrimary) => void) {}

  begin(resume: () => void): boolean {
    if (this.hasTurn && this.isUsed && this.othersWait) this.end(true);
    if (this.hasTurn || this.mayGoAhead) {
      this.mayGoAhead = false;
      this.isUsed = true;
      this.isOpen = true;
      return true;
    }
    if (!this.hasAsked) this.send({ type: 'writeTurn', ends: false, wants: true });
    this.hasAsked = true;
    this.resume = resume;
    this.timer = setTimeout(() => {
      this.mayGoAhead = true;
      this.goOn();
    }, LONGEST_WAIT);
    return false;
  }

  idle(): void {
    this.isOpen = false;
    if (this.hasTurn && this.othersWait) this.end(false);
  }

  receive(message: MessageToWorker): void {
    if (message.type === 'yourWriteTurn') {
      this.hasTurn = true;
      this.hasAsked = false;
      this.isUsed = false;
      this.othersWait = message.othersWait;
      if (this.resume !== undefined) this.goOn();
      else if (!this.isOpen) this.idle();
      // It went ahead without its turn, and has it now.
      else this.isUsed = true;
    } else if (message.type === 'othersWait') {
      this.othersWait = true;
      if (!this.isOpen) this.idle();
    }
  }

  private end(wants: boolean): void {
    this.hasTurn = false;
    this.hasAsked = wants;
    this.othersWait = false;
    this.send({ type: 'writeTurn', ends: true, wants });
  }

  private goOn(): void {
    const { resume } = this;
    clearTimeout(this.timer);
    this.resume = undefined;
    resume?.();
  }
}
