import { chmod, lchown, open, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { giveToFolderOwner } from '../../database/sqlite/file/private-file.js';
import { Failure } from '../errors.js';

/**
 * Puts a finished draft in the place of a file, in the same folder: every reader sees the old one or the whole new one,
 * even after the power has gone. Who may read and write the old one may do so with the new one.
 * @throws {ReplacedError} when the new file is in place, and after a power cut the old one may be there again
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

/** The new file is whole and in place; whether its name is on disk is not certain. */
export class ReplacedError extends Failure {
  constructor(path: string, cause: Error) {
    super(
      `${path} is the new file, but its folder cannot be put on disk (${cause.message}): after a power cut it may be the ` +
        'old one again. Check the disk.',
      cause,
    );
    this.name = 'ReplacedError';
  }
}

/**
 * Gives the draft owner, group and mode of the file; where it can't have its owner and group, it stays with its maker alone. Where
 * there is no file yet, root gives the draft to the owner of the folder.
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

/** Puts a file, or the names in a folder, on disk. */
export async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
