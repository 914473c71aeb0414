/** The command could not do what it was asked to; the message says why, what state things are in and how to go on. Exit code 1. */
export class Failure extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'Failure';
  }
}

/** The command was called wrongly. Exit code 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}
