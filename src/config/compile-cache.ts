import * as nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';

/** Beside `src`, as it runs: `dist/bundle/compile-cache`, or `dist/compile-cache` for the compiled files by themselves. */
const FOLDER = new URL('../../compile-cache', import.meta.url);

interface CompileCache {
  readonly enableCompileCache?: (folder: string) => unknown;
}

/**
 * Keeps what V8 has compiled for the next start, on Node 22.8 and newer. A folder that cannot be written, as in the image, is read all the
 * same. `NODE_COMPILE_CACHE` names another folder, `NODE_DISABLE_COMPILE_CACHE` turns it off.
 */
export function useCompileCache(): void {
  const { enableCompileCache } = nodeModule as CompileCache;
  enableCompileCache?.(fileURLToPath(FOLDER));
}
