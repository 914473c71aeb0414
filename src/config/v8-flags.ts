import { setFlagsFromString } from 'node:v8';

/**
 * Makes V8 allocate all new objects as young ones. From code whose objects often survive, V8 would allocate them among
 * the old objects, where they keep the whole request until the next full garbage collection: a POST took a fifth more
 * CPU.
 */
export function keepNewObjectsYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
}
