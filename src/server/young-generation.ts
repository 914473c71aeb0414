import { setFlagsFromString } from 'node:v8';

/**
 * Fits V8's collections of young objects to a server, whose requests leave much garbage and hardly a survivor: each collection by
 * the main thread alone, and few of them. To be called when the start is over, and its garbage gone. See
 * docs/adr/0107-young-generation-of-a-server.md.
 */
export function tuneYoungGeneration(): void {
  setFlagsFromString('--no-parallel-scavenge');
  setFlagsFromString('--semi-space-growth-factor=16');
}
