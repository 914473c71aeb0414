import { mkdirSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';

/** `dist/compile-cache`, which a build deletes with the rest of `dist`. */
const FOLDER = fileURLToPath(new URL('../../compile-cache', import.meta.url));

interface CompileCache {
  readonly enableCompileCache?: (folder: string) => unknown;
}

/**
 * Keeps compiled code for the next start, on Node 22.8 and newer (Node's documentation, "Module compile cache"). Only
 * the user of the service may enter the folder, because its files are executed. In the image the folder is read-only.
 * `NODE_COMPILE_CACHE` names another folder, `NODE_DISABLE_COMPILE_CACHE` turns the cache off.
 */
export function useCompileCache(): void {
  const { enableCompileCache } = nodeModule as CompileCache;
  if (enableCompileCache === undefined) return;
  try {
    mkdirSync(FOLDER, { mode: 0o700 });
  } catch {
    // The folder exists, or cannot be made.
  }
  enableCompileCache(FOLDER);
}
