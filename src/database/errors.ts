/** `busy`: a lock, time-out or limit, which ends soon; `unreachable`: not usable now; `damaged`: needs a repair. */
export type UnavailableKind = 'busy' | 'unreachable' | 'damaged';

/** Base class of the errors that concern the whole database, and not one statement. */
export abstract class DatabaseError extends Error {
  override readonly name = this.constructor.name;
}

/** Nothing was stored, so the client may try again. The response is 503 with `Retry-After`. */
export class DatabaseUnavailableError extends DatabaseError {
  constructor(
    message: string,
    cause?: unknown,
    readonly kind: UnavailableKind = 'busy',
  ) {
    super(message, { cause });
  }
}

/** The connection broke before anything changed. The caller may try again on another connection. */
export class ConnectionLostError extends DatabaseUnavailableError {
  constructor(cause: unknown) {
    super('The connection to the database failed', cause, 'unreachable');
  }
}

/**
 * A change may be stored or not, because the response to its COMMIT was lost, for example. It is no
 * `DatabaseUnavailableError`: a blind repetition could make the change twice. The response is 503.
 */
export class OutcomeUnknownError extends DatabaseError {
  /** @param isRepeatable whether the request has an `Idempotency-Key`; then the response has `Retry-After` */
  constructor(
    message: string,
    cause?: unknown,
    readonly isRepeatable = false,
  ) {
    super(message, { cause });
  }
}

/** The volume of the database is full. Nothing of the transaction was stored. The response is 507. */
export class DiskFullError extends DatabaseError {
  constructor(cause: unknown) {
    super('The volume of the database is full', { cause });
  }
}

/** A 64-bit integer of the database exceeds 2^53 - 1, and a JavaScript number would be rounded. */
export class UnsafeIntegerError extends Error {
  /** @param value as text, or rounded if only that is available */
  constructor(value: string) {
    super(
      `An integer beyond 2^53 - 1 would be rounded to a number (about ${value}): read it as text, with ` +
        'CAST(column AS text), or keep such values in a column of text',
    );
    this.name = 'UnsafeIntegerError';
  }
}

/** The error of the driver, inside errors of the data layer, of TypeORM and of an `AggregateError`. */
export function rootCause(error: unknown): Error & { readonly code?: unknown } {
  const { code, cause, driverError, errors } = error as Record<string, unknown>;
  const inner = driverError ?? (errors as unknown[] | undefined)?.[0] ?? (typeof code === 'string' ? undefined : cause);
  return inner === undefined ? (error as Error) : rootCause(inner);
}

/** The database cannot be used. The message tells the operator the file or server, the reason and the remedy. */
export class DatabaseStartError extends DatabaseError {}
