/** A broken promise of the service. */
export class Violation extends Error {
  constructor(
    message: string,
    /** Requests that show it, one a line. */
    readonly evidence: readonly string[] = [],
  ) {
    super(message);
  }
}
