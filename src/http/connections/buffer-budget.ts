/**
 * The memory that unsent responses and waiting requests of all connections take together, in bytes, and its limit. It counts
 * what a client can make the service hold by not reading; small responses within one turn of the event loop may exceed it.
 */
export class BufferBudget {
  private held = 0;

  /** @param limit in bytes */
  constructor(readonly limit: number) {}

  get bytes(): number {
    return this.held;
  }

  /** Whether a good part is left, so that nobody needs to give way. */
  get isComfortable(): boolean {
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
