import { chmod, lchown, open, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { giveToFolderOwner } from '../../database/sqlite/file/private-file.js';

/** Replaces a file atomically, also across a power failure, by a draft in its folder. Owner and permissions stay. */
export async function replaceFile(draft: string, path: string): Promise<void> {
  await inheritAccess(draft, path);
  await sync(draft);
  await rename(draft, path);
  await syncName(path);
}

/** Calls fsync on the folder of a new name. The file is in place, so a failure is a warning. */
export async function syncName(path: string): Promise<void> {
  await sync(dirname(path)).catch(({ message }: Error) => {
    console.error(`Warning: after a power cut ${path} may be as it was before (${message}). Check the disk.`);
  });
}

/**
 * Copies owner, group and mode of the file to the draft. Without permission to do so, only the current user may read
 * the draft. A new file that root makes gets the owner of the folder.
 */
async function inheritAccess(draft: string, path: string): Promise<void> {
  const [old, made] = await Promise.all([stat(path).catch(() => undefined), stat(draft)]);
  if (old === undefined) return giveToFolderOwner(draft, path);
  if (old.uid !== made.uid || old.gid !== made.gid) {
    try {
      await lchown(draft, old.uid, old.gid);
    } catch {
      return;
    }
  }
  await chmod(draft, old.mode & 0o777);
}

/** Calls fsync on a file or a folder. */
export async function sync(path: string): Promise<void> {
  await using handle = await open(path, 'r');
  await handle.sync();
}
