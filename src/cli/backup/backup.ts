import { createReadStream, createWriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { loadConfigFromProcess } from '../../config/config.js';
import { CLI } from '../../config/program-names.js';
import { ownersOf } from '../../database/sqlite/file/file-problem.js';
import { PRIVATE_FILE } from '../../database/sqlite/file/private-file.js';
import { sqliteCode } from '../../database/sqlite/sqlite-errors.js';
import { SETTINGS } from '../../features.js';
import { Failure } from '../command-errors.js';
import { outputFile, standardOutput } from '../output/destination.js';
import { replaceFile } from '../output/replace-file.js';
import { countedRecords } from '../resources/resources.js';
import { copyDatabase } from '../sqlite-file/copy-database.js';
import { requireDatabase, requireSqlite } from '../sqlite-file/database-path.js';
import { checkFile } from '../sqlite-file/file-check.js';
import { withDraftFolder } from '../sqlite-file/draft-folder.js';
import { differencesFromFresh } from './schema-check.js';

export async function backup(file: string, interrupt: AbortSignal): Promise<void> {
  const config = loadConfigFromProcess(SETTINGS);
  const path = requireSqlite(config, 'backup');
  requireDatabase(config);
  const target = await outputFile(config, file);
  // The target may be stdout, and SQLite writes the pages of a copy in any order, so the copy is a draft file first.
  try {
    await withDraftFolder(`${target ?? path}.partial-`, async (folder) => {
      const draft = join(folder, 'draft.sqlite');
      await copyDatabase(path, draft, interrupt);
      const { errors, drifts, counts, migrations } = await checkFile(draft);
      const remedy = `Correct it first: ${CLI} doctor --fix`;
      if (drifts.length > 0) throw new Failure(`the database has a wrong counter: ${drifts.join('; ')}. ${remedy}`);
      if (errors.length > 0) throw new Failure(`the copy fails the checks: ${errors.join('; ')}. See: ${CLI} doctor`);
      const differences = await differencesFromFresh(draft, migrations, config);
      if (differences.length > 0) console.error(`Warning: restore will reject this backup: ${differences.join('; ')}.`);
      interrupt.throwIfAborted();
      const copied = file.endsWith('.gz') ? await pack(draft, interrupt) : draft;
      const { size } = await stat(copied);
      if (target === undefined) await pipeline(createReadStream(copied), standardOutput(), { signal: interrupt });
      else await replaceFile(copied, target);
      console.error(`Backed up ${countedRecords(counts)} to ${file} (${size} bytes), and checked it.`);
    });
  } catch (error) {
    interrupt.throwIfAborted();
    const isDenied = /^SQLITE_(READONLY|CANTOPEN)/.test(sqliteCode((error as Error).cause));
    const owners = isDenied ? ` (${ownersOf([dirname(path), path])})` : '';
    throw new Failure(`There is no new backup: ${(error as Error).message}${owners}`, error);
  }
}

/** Packs a file, removes it, and returns the packed one, which is read again as a check: the disk may be bad. */
export async function pack(file: string, signal: AbortSignal): Promise<string> {
  const packed = `${file}.gz`;
  const target = createWriteStream(packed, { flags: 'wx', mode: PRIVATE_FILE });
  await pipeline(createReadStream(file), createGzip(), target, { signal });
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  await pipeline(createReadStream(packed), createGunzip(), nowhere, { signal });
  await rm(file);
  return packed;
}
