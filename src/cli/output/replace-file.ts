import { chmod, lchown, open, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { giveToFolderOwner } from '../../database/sqlite/file/private-file.js';
import { Failure } from '../command-errors.js';

/**
 * Replaces a file atomically by a draft in the same folder, also across a power failure. Owner and permissions stay.
 * @throws {ReplacedError} when the new file is in place, but a power cut may bring back the old one
 * @throws SystemError when the old file is still in place
 */
export async function replaceFile(draft: string, path: string): Promise<void> {
  await inheritAccess(draft, path);
  await sync(draft);
  await rename(draft, path);
  try {
    await sync(dirname(path));
  } catch (error) {
    throw new ReplacedError(path, error as Error);
  }
}

/** The new file is in place, but its directory entry may not be on disk yet. */
export class ReplacedError extends Failure {
  constructor(path: string, cause: Error) {
    super(
      `${path} is the new file, but its folder cannot be synced (${cause.message}): after a power cut it may be the ` +
        'old one again. Check the disk.',
      cause,
    );
  }
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
