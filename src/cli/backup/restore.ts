import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { loadConfigFromProcess } from '../../config/config.js';
import { SERVICE_NAME } from '../../config/service-name.js';
import { makePrivateFolder } from '../../database/sqlite/file/private-file.js';
import { SETTINGS } from '../../features.js';
import { Failure, UsageError } from '../command-errors.js';
import { resolveLinks } from '../output/destination.js';
import { sync } from '../output/replace-file.js';
import { countedRecords } from '../resources/resources.js';
import { isSameFile, requireSqlite } from '../sqlite-file/database-path.js';
import { receiveBackup } from './backup-source.js';
import { checkCopy } from './check-copy.js';
import { draftFolder } from './copy.js';
import { replaceDatabase } from './replace-database.js';

export interface RestoreOptions {
  /** Only checks whether the backup can be restored. */
  readonly verify?: true;
  readonly skipRecordCheck?: true;
}

/** @throws {Failure} with the reason why the backup cannot be restored */
export async function restore(file: string, options: RestoreOptions, interrupt: AbortSignal): Promise<void> {
  const { verify, skipRecordCheck = false } = options;
  const config = loadConfigFromProcess(SETTINGS);
  // A symbolic link to the database remains a link.
  const path = await resolveLinks(requireSqlite(config, 'restore'));
  if (await isSameFile(file, path)) throw new UsageError(`${file} is the database itself`);
  let folder: string | undefined;
  try {
    if (!verify) makePrivateFolder(dirname(path));
    folder = verify
      ? await mkdtemp(join(tmpdir(), `${SERVICE_NAME}-verify-`))
      : await draftFolder(`${path}.restoring-`);
    const copy = join(folder, 'draft.sqlite');
    await receiveBackup(file, copy, interrupt);
    const { counts, pending } = await checkCopy(copy, { file, recordCheck: !skipRecordCheck }, config, interrupt);
    const records = countedRecords(counts);
    if (verify) console.error(`${file} can be restored: it holds ${records}. Nothing was changed.`);
    else await replaceStorage(copy, path, `${records} from ${file}`, interrupt);
    if (skipRecordCheck) console.error('The records were not checked (--skip-record-check).');
    if (pending.length === 0) return;
    const isDone = !verify && !skipRecordCheck;
    const ran = isDone ? 'The check of the records has run' : 'After a restore, the next start runs';
    console.error(`${ran} the migrations ${pending.join(', ')}.`);
  } catch (error) {
    const state = verify
      ? `The check was made in ${tmpdir()}; TMPDIR names another folder.`
      : 'The storage is as it was.';
    if (interrupt.aborted) throw new Failure(`Interrupted. ${state}`, interrupt.reason);
    const { message } = error as Error;
    throw new Failure(`${error instanceof Failure ? message : `${file} is not restored: ${message}.`} ${state}`, error);
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }
}

/** Puts a checked copy in the place of the database. */
async function replaceStorage(copy: string, path: string, what: string, interrupt: AbortSignal): Promise<void> {
  // Before the lock is taken, because a signal can still be handled here.
  await sync(copy);
  interrupt.throwIfAborted();
  const aside = await replaceDatabase(copy, path);
  console.error(`Restored ${what} to ${path}, under a new epoch: older ETags are no longer valid.`);
  if (aside !== undefined) console.error(`The old database is now ${aside}; remove it when you no longer need it.`);
}
