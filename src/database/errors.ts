/**
 * Why the database is unavailable: `busy` passes by itself (locks, time-outs, limits), `away` lasts until the database is back,
 * `damaged` until somebody repairs it.
 */
export type UnavailableKind = 'busy' | 'away' | 'damaged';

/**
 * The database did not answer in time, or not at all: locked by another process, taken away, broken. Nothing of the
 * transaction was kept, so the client may try again. Answered with 503 and `Retry-After`.
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

/** The volume of the database has no room left. Nothing of the transaction was kept. Answered with 507. */
export class DiskFullError extends Error {
  constructor(cause: unknown) {
    super('The volume of the database is full', { cause });
    this.name = 'DiskFullError';
  }
}

/** The database cannot be used at all; the message tells the operator which file or server, why, and what to do. */
export class DatabaseStartError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'DatabaseStartError';
  }
}
