import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Puts a finished draft in the place of a file, in the same folder: whoever looks sees the old one or the whole new one,
 * even after the power has gone.
 */
export async function replaceFile(draft: string, path: string): Promise<void> {
  await sync(draft);
  await rename(draft, path);
  await sync(dirname(path));
}

/** Puts a file, or the names in a folder, on disk. */
export async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
