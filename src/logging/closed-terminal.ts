import { closeSync } from 'node:fs';

/** Call it on SIGHUP. Node 20 crashes at its end if it cannot reset the mode of a terminal that has closed. */
export function closeTerminalAtExit(): void {
  // This listener runs after those that still write.
  process.once('exit', () => [0, 1, 2].forEach((descriptor) => closeSync(descriptor)));
}
