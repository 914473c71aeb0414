const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

/** The reason of an abort by Ctrl+C or SIGTERM. The command ends at its next safe point and prints its state. */
export class Interrupted extends Error {
  /** @param exitCode 128 and the number of the signal, as shells have it */
  constructor(readonly exitCode: number) {
    super('Interrupted.');
    this.name = 'Interrupted';
  }
}

/**
 * The first SIGINT or SIGTERM aborts the signal with an `Interrupted`. The second one ends the process immediately.
 */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  for (const [signal, exitCode] of Object.entries(SIGNALS)) {
    process.on(signal, () => {
      if (controller.signal.aborted) process.exit(exitCode);
      controller.abort(new Interrupted(exitCode));
    });
  }
  return controller.signal;
}
