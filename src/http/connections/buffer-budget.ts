/**
 * Counts the bytes of unsent responses and waiting requests of all connections, against a limit. Small responses of one turn of
 * the event loop may exceed it.
 */
export class BufferBudget {
  private held = 0;

  /** @param limit in bytes */
  constructor(readonly limit: number) {}

  get bytes(): number {
    return this.held;
  }

  /** Tells whether so little is used that no check is needed. */
  get isComfortable(): boolean {
    return this.held * 3 <= this.limit;
  }

  /** Tells whether enough is free, so that no connection must be closed. */
  get isSufficient(): boolean {
    return this.held * 3 <= this.limit * 2;
  }

  get isExceeded(): boolean {
    return this.held > this.limit;
  }

  /** @param bytes less than 0 for what is given back */
  add(bytes: number): void {
    this.held += bytes;
  }
}
