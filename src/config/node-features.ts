import { mkdirSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';

/** `dist/compile-cache`, which a build deletes with the rest of `dist`. */
const FOLDER = fileURLToPath(new URL('../../compile-cache', import.meta.url));

interface NewerNode {
  readonly enableCompileCache?: (folder: string) => unknown;
  readonly setSourceMapsSupport?: (enabled: boolean, options: { nodeModules: boolean }) => void;
}

/**
 * From Node 22.8 on, keeps compiled code for the next start (Node's "Module compile cache"). From 22.14 on, stacks name
 * the TypeScript sources; older versions would also read the maps of all packages: 20 MB and an eighth of the start.
 */
export function useNodeFeatures(): void {
  const { enableCompileCache, setSourceMapsSupport } = nodeModule as NewerNode;
  setSourceMapsSupport?.(true, { nodeModules: false });
  if (enableCompileCache === undefined) return;
  try {
    // Only the user of the service may enter the folder, because its files are executed.
    mkdirSync(FOLDER, { mode: 0o700 });
  } catch {
    // The folder exists, or cannot be made: it is read-only in the image.
  }
  enableCompileCache(FOLDER);
}
