import { setFlagsFromString } from 'node:v8';

/**
 * Fits V8's collections to a server, whose requests leave much garbage and hardly a survivor: those of young objects by the main
 * thread alone, and few of them; those of all objects only when as much again is held, buffers included. To be called when the
 * start is over, and its garbage gone. See docs/adr/0107-young-generation-of-a-server.md and
 * docs/adr/0116-old-generation-of-a-server.md.
 */
export function tuneGarbageCollection(): void {
  setFlagsFromString('--no-parallel-scavenge');
  setFlagsFromString('--semi-space-growth-factor=16');
  setFlagsFromString('--heap-growing-percent=100');
}
