const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

/** Ctrl+C, or a signal to stop: the command ends at its next safe point, and says in which state it leaves things. */
export class Interrupted extends Error {
  /** @param exitCode 128 and the number of the signal, as shells have it */
  constructor(readonly exitCode: number) {
    super('Interrupted.');
    this.name = 'Interrupted';
  }
}

/**
 * Aborted, with an `Interrupted` as its reason, by the first SIGINT or SIGTERM. The second ends the process immediately, in
 * case the safe point does not come.
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
