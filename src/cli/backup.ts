import { rm, stat } from 'node:fs/promises';
import { Command } from 'commander';
import { loadConfigFromProcess } from '../config/config.js';
import { knownMigrations } from '../database/schema-version.js';
import { checkFile } from '../database/sqlite/file-check.js';
import { copyDatabase } from '../database/sqlite/file-copy.js';
import { Failure, UsageError } from './errors.js';
import { examples } from './examples.js';
import { databaseExists, requireSqlite } from './open-database.js';
import { Progress } from './progress.js';
import { replaceFile } from './replace-file.js';

export function backupCommand(interrupt: AbortSignal): Command {
  return new Command('backup')
    .description('copy the SQLite database, as it is at one moment, into one file, while the service serves')
    .argument('<file>', 'where to; a file that is there already is replaced when the copy is whole and checked')
    .addHelpText('after', examples('backup /backups/cookies.sqlite'))
    .action((file: string) => backup(file, interrupt));
}

async function backup(file: string, interrupt: AbortSignal): Promise<void> {
  const config = loadConfigFromProcess();
  const path = requireSqlite(config, 'backup', 'pg_dump');
  if (!databaseExists(config)) throw new Failure(`There is no database at ${path}; see DATABASE_URL.`);
  if (await isSameFile(file, path)) throw new UsageError(`${file} is the database itself`);
  const draft = `${file}.partial-${process.pid}`;
  try {
    await copy(path, draft, { readonly: false, interrupt });
    const { faults, counts } = checkFile(draft, await knownMigrations());
    if (faults.length > 0) throw new Failure(`the copy is not sound: ${faults.join('; ')}. See: cli doctor`);
    interrupt.throwIfAborted();
    await replaceFile(draft, file);
    const { size } = await stat(file);
    console.error(`Backed up ${counts.get('cookies')} cookies to ${file} (${size} bytes), and checked it.`);
  } catch (error) {
    for (const leftover of [draft, `${draft}-journal`]) await rm(leftover, { force: true }).catch(() => {});
    interrupt.throwIfAborted();
    throw new Failure(`There is no new backup: ${(error as Error).message}`, error);
  }
}

export interface CopyOptions {
  /** Whether the source must stay as it is. */
  readonly readonly: boolean;
  readonly interrupt: AbortSignal;
}

/** Copies a database and shows how far it has got. */
export async function copy(from: string, to: string, { readonly, interrupt }: CopyOptions): Promise<void> {
  const { size } = await stat(from);
  const bar = new Progress({ done: 'Copied', unit: 'KiB' }, Math.ceil(size / 1024));
  const progress = (done: number, total: number): void => {
    interrupt.throwIfAborted();
    bar.update(Math.round((done / total) * (size / 1024)));
  };
  try {
    await copyDatabase(from, to, { readonly, progress });
  } finally {
    bar.stop();
  }
}

export async function isSameFile(one: string, other: string): Promise<boolean> {
  const [first, second] = await Promise.all([one, other].map((path) => stat(path).catch(() => undefined)));
  return first !== undefined && first.ino === second?.ino && first.dev === second.dev;
}
