import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Returns V8's full garbage collection, which Node exposes only with a flag. */
export function exposedGc(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
