/**
 * Why the database is unavailable: `busy` passes by itself (locks, time-outs, limits), `away` lasts until the database is back,
 * `damaged` until somebody repairs it.
 */
export type UnavailableKind = 'busy' | 'away' | 'damaged';

/**
 * The database did not respond in time, or not at all: locked by another process, taken away, broken. Nothing of the
 * transaction was stored, so the client may try again. The response is 503 and `Retry-After`.
 */
export class DatabaseUnavailableError extends Error {
  constructor(
    message: string,
    cause?: unknown,
    readonly kind: UnavailableKind = 'busy',
  ) {
    super(message, { cause });
    this.name = 'DatabaseUnavailableError';
  }
}

/** @param timeout milliseconds that a transaction may take */
export function transactionTooLong(timeout: number): DatabaseUnavailableError {
  return new DatabaseUnavailableError(`The transaction took longer than ${timeout} ms and was rolled back`);
}

/**
 * The connection broke, with nothing changed by it: the statement or transaction may be tried again on another connection.
 * Thrown to clients, it is what it extends.
 */
export class ConnectionLostError extends DatabaseUnavailableError {
  constructor(cause: unknown) {
    super('The connection to the database failed', cause, 'away');
    this.name = 'ConnectionLostError';
  }
}

/**
 * The change was sent to be committed, and nobody knows whether it was: the response to COMMIT was lost, for example. It is no
 * `DatabaseUnavailableError`, since who tries that again could make the change twice; look first, then repeat. Sent as
 * 503 and without `Retry-After`. All whose changes share the commit share it.
 */
export class OutcomeUnknownError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'OutcomeUnknownError';
  }
}

/** The volume of the database has no space left. Nothing of the transaction was stored. The response is 507. */
export class DiskFullError extends Error {
  constructor(cause: unknown) {
    super('The volume of the database is full', { cause });
    this.name = 'DiskFullError';
  }
}

/** A number of JavaScript would round an integer of the database, which has 64 bits there: 2^53 - 1 is the largest it holds. */
export class UnsafeIntegerError extends Error {
  /** @param value as the database gave it, or rounded where only that is left of it */
  constructor(value: string) {
    super(
      `An integer beyond 2^53 - 1 would be rounded to a number (about ${value}): read it as text, with CAST(column AS text), or ` +
        'keep such values in a column of text',
    );
    this.name = 'UnsafeIntegerError';
  }
}

/** The database cannot be used at all; the message tells the operator which file or server, why, and what to do. */
export class DatabaseStartError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'DatabaseStartError';
  }
}
