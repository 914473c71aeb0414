import { createReadStream, existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfigFromProcess } from '../../config/config.js';
import { SERVICE_NAME } from '../../config/service-name.js';
import { SETTINGS } from '../../features.js';
import { Failure, UsageError } from '../command-errors.js';
import { countedRecords } from '../resources/resources.js';
import { isSameFile, requireSqlite } from '../sqlite-file/database-path.js';
import { requireReadable, seekable, writePrivately } from './backup-source.js';
import { tryRestore } from './checked-copy.js';
import { type RestoreOptions, warnOfCapacity } from './restore.js';

/**
 * Restores a backup into a temporary folder, so it rejects the same backups as a restore. It opens no file beside the
 * backup, because SQLite would make further files there.
 * @throws {Failure} with the reason why it cannot be restored
 */
export async function verifyBackup(file: string, options: RestoreOptions, interrupt: AbortSignal): Promise<void> {
  const config = loadConfigFromProcess(SETTINGS);
  const path = requireSqlite(config, 'restore');
  if (await isSameFile(file, path)) throw new UsageError(`${file} is the database itself`);
  await requireReadable(file);
  const hint = `The copy for the check is made in ${tmpdir()}; TMPDIR names another folder.`;
  let folder = '';
  try {
    folder = await mkdtemp(join(tmpdir(), `${SERVICE_NAME}-verify-`));
    const source = await fetchBackup(file, join(folder, 'backup.sqlite'), interrupt);
    const { counts, pending } = await tryRestore({ file, source, folder }, config, options, interrupt);
    console.error(`${file} can be restored: it holds ${countedRecords(counts)}. Nothing was changed.`);
    if (!options.recordCheck) console.error('The records were not checked (--skip-record-check).');
    warnOfCapacity(counts, config);
    if (pending.length > 0) console.error(`After a restore, the next start runs the migrations ${pending.join(', ')}.`);
  } catch (error) {
    interrupt.throwIfAborted();
    if (error instanceof Failure || error instanceof UsageError) throw error;
    throw new Failure(`${file} is not verified: ${(error as Error).message}. ${hint}`, error);
  } finally {
    if (folder !== '') await rm(folder, { recursive: true, force: true });
  }
}

/** Copies a backup and the files of SQLite beside it. */
async function fetchBackup(file: string, to: string, signal: AbortSignal): Promise<string> {
  if ((await seekable(file, to, signal)) === to) return to;
  for (const suffix of ['', '-wal', '-journal'].filter((each) => existsSync(file + each))) {
    await writePrivately(createReadStream(file + suffix), to + suffix, signal);
  }
  return to;
}
