import { mkdirSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';

/** `dist/compile-cache`, which a build deletes with the rest of `dist`. */
const FOLDER = fileURLToPath(new URL('../../compile-cache', import.meta.url));

interface CompileCache {
  readonly enableCompileCache?: (folder: string) => unknown;
}

/**
 * Keeps what V8 has compiled for the next start, on Node 22.8 and newer (Node's documentation, "Module compile cache"). Only the user who
 * runs the service may enter the folder: what lies in it is run. A folder that cannot be written, as in the image, is read all the same.
 * `NODE_COMPILE_CACHE` names another folder, `NODE_DISABLE_COMPILE_CACHE` turns it off.
 */
export function useCompileCache(): void {
  const { enableCompileCache } = nodeModule as CompileCache;
  if (enableCompileCache === undefined) return;
  try {
    mkdirSync(FOLDER, { mode: 0o700 });
  } catch {
    // It is there, or there is none.
  }
  enableCompileCache(FOLDER);
}
