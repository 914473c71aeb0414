/**
 * Counts the bytes that unsent responses and waiting requests of all connections hold, and compares them with a limit.
 * Small responses within one turn of the event loop may exceed the limit.
 */
export class BufferBudget {
  bytes = 0;

  /** @param limit in bytes */
  constructor(readonly limit: number) {}

  /** Up to a third of the limit, nothing is checked. */
  get isComfortable(): boolean {
    return this.bytes * 3 <= this.limit;
  }

  /** Up to two thirds of the limit, no connection is closed. */
  get isSufficient(): boolean {
    return this.bytes * 3 <= this.limit * 2;
  }

  get isExceeded(): boolean {
    return this.bytes > this.limit;
  }
}
