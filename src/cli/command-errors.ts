/** The command failed (exit code 1). The message says why, what state the data is in and how to continue. */
export class Failure extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
  }
}

/** Wrong usage (exit code 2). */
export class UsageError extends Error {}
