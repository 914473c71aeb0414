import { createReadStream, existsSync } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Config, loadConfigFromProcess } from '../../config/config.js';
import { SERVICE_NAME } from '../../config/service-name.js';
import { makePrivateFolder } from '../../database/sqlite/file/private-file.js';
import { RESOURCES, SETTINGS } from '../../features.js';
import { Failure, UsageError } from '../command-errors.js';
import { resolveLinks } from '../output/destination.js';
import { sync } from '../output/replace-file.js';
import { countedRecords } from '../resources/resources.js';
import { BESIDE, isSameFile, requireSqlite } from '../sqlite-file/database-path.js';
import type { FileReport } from '../sqlite-file/file-check.js';
import { requireReadable, seekable, writePrivately } from './backup-source.js';
import { checkedCopy } from './checked-copy.js';
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
  await requireReadable(file);
  const check = (source: string, draft: string) =>
    checkedCopy({ file, source, draft, recordCheck: !skipRecordCheck }, config, interrupt);
  const { counts, pending } = await (verify
    ? verifyBackup(file, check, interrupt)
    : replaceStorage(file, path, check, interrupt));
  if (skipRecordCheck) console.error('The records were not checked (--skip-record-check).');
  warnOfCapacity(counts, config);
  if (pending.length === 0) return;
  const isDone = !verify && !skipRecordCheck;
  const ran = isDone ? 'The check of the records has run' : 'After a restore, the next start runs';
  console.error(`${ran} the migrations ${pending.join(', ')}.`);
}

type Check = (source: string, draft: string) => ReturnType<typeof checkedCopy>;

/** Puts a backup in the place of the database. */
async function replaceStorage(file: string, path: string, check: Check, interrupt: AbortSignal) {
  await requireOwner(path);
  const draft = `${path}.restoring`;
  let checked: Awaited<ReturnType<Check>>;
  let aside: string | undefined;
  try {
    makePrivateFolder(dirname(path));
    // A killed restore may have left the file.
    await discard(draft);
    const source = await seekable(file, `${draft}-from`, interrupt);
    checked = await check(source, draft);
    if (source !== file) await rm(source);
    for (const suffix of BESIDE) await rm(draft + suffix, { force: true });
    // Before the lock is taken, because a signal can still be handled here.
    await sync(draft);
    interrupt.throwIfAborted();
    aside = await replaceDatabase(draft, path);
  } catch (error) {
    await discard(draft).catch(() => {});
    if (error instanceof UsageError) throw error;
    if (interrupt.aborted) throw new Failure('Interrupted. The storage is as it was.', interrupt.reason);
    if (error instanceof Failure) throw new Failure(`${error.message} The storage is as it was.`, error);
    throw new Failure(`${file} is not restored: ${(error as Error).message}. The storage is as it was.`, error);
  }
  console.error(
    `Restored ${countedRecords(checked.counts)} from ${file} to ${path}, under a new epoch: older ETags are no longer valid.`,
  );
  if (aside !== undefined) console.error(`The old database is now ${aside}; remove it when you no longer need it.`);
  return checked;
}

/** Restores a backup into a temporary folder. It opens no file beside the backup, where SQLite would make others. */
async function verifyBackup(file: string, check: Check, interrupt: AbortSignal) {
  const hint = `The copy for the check is made in ${tmpdir()}; TMPDIR names another folder.`;
  let folder = '';
  try {
    folder = await mkdtemp(join(tmpdir(), `${SERVICE_NAME}-verify-`));
    const source = join(folder, 'backup.sqlite');
    if ((await seekable(file, source, interrupt)) === file) {
      for (const suffix of ['', '-wal', '-journal'].filter((each) => existsSync(file + each))) {
        await writePrivately(createReadStream(file + suffix), source + suffix, interrupt);
      }
    }
    const checked = await check(source, join(folder, 'trial.sqlite'));
    console.error(`${file} can be restored: it holds ${countedRecords(checked.counts)}. Nothing was changed.`);
    return checked;
  } catch (error) {
    interrupt.throwIfAborted();
    if (error instanceof Failure || error instanceof UsageError) throw error;
    throw new Failure(`${file} is not verified: ${(error as Error).message}. ${hint}`, error);
  } finally {
    if (folder !== '') await rm(folder, { recursive: true, force: true });
  }
}

/** Removes a draft and the files beside it. */
async function discard(draft: string): Promise<void> {
  for (const suffix of ['', '-from', '-fresh', ...BESIDE]) await rm(draft + suffix, { force: true });
  for (const suffix of BESIDE) await rm(`${draft}-fresh${suffix}`, { force: true });
}

/** @throws {Failure} if the restored database could not get the owner of the old one */
async function requireOwner(path: string): Promise<void> {
  const user = process.geteuid?.();
  const owner = (await stat(path).catch(() => undefined))?.uid;
  if (user === undefined || user === 0 || owner === undefined || owner === user) return;
  throw new Failure(
    `${path} belongs to the user ${owner}, and this command runs as the user ${user}, who cannot make a file for another: ` +
      `run it as the user ${owner}, or as root.`,
  );
}

function warnOfCapacity(counts: FileReport['counts'], config: Config): void {
  for (const { name, capacity } of RESOURCES) {
    const [stored, allowed] = [counts.get(name.plural) ?? 0, config.get(capacity)];
    if (stored <= allowed) continue;
    console.error(
      `Warning: these are more than ${capacity.name} allows (${allowed}): POST is rejected with 507 until it is raised or ` +
        `${stored - allowed + 1} ${name.pluralText} are deleted.`,
    );
  }
}
