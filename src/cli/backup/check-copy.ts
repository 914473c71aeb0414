import { isUtf8 } from 'node:buffer';
import { QueryFailedError } from 'typeorm';
import type { Config } from '../../config/config.js';
import { RESOURCES } from '../../features.js';
import { wholeArray } from '../../resource/lists/json-array.js';
import type { AnyResourceEntity, PublicRecord } from '../../resource/resource-entity.js';
import type { JsonPage } from '../../resource/store/resource-snapshot.js';
import { Failure } from '../command-errors.js';
import { progressOf } from '../output/progress.js';
import { openRepository } from '../resources/open-storage.js';
import { BrokenLineError, recordReader } from '../resources/record-lines.js';
import { atPath } from '../sqlite-file/database-path.js';
import { checkFile } from '../sqlite-file/file-check.js';
import { differencesFromFresh, dropRecreatedParts } from './schema-check.js';

/**
 * Checks pages, counters, ids, schema and records of a copy, and makes it ready to be the database.
 * @param file names the backup in messages
 * @returns the records of each resource, and the migrations that the next start will run
 * @throws {Failure} with the reason why the backup cannot be restored
 */
export async function checkCopy(
  copy: string,
  { file, skipRecordCheck }: { readonly file: string; readonly skipRecordCheck?: true },
  config: Config,
  interrupt: AbortSignal,
) {
  const { errors, drifts, counts, migrations, pending } = await checkFile(copy);
  if (errors.length + drifts.length === 0) errors.push(...(await differencesFromFresh(copy, migrations, config)));
  const wrong = [...errors, ...drifts];
  if (wrong.length > 0) throw new Failure(`${file} cannot be restored: ${wrong.join('; ')}.`);
  interrupt.throwIfAborted();
  dropRecreatedParts(copy);
  if (!skipRecordCheck) {
    await requireValidRecords(file, atPath(config, copy), interrupt).catch((error: unknown) => {
      // SQLite stores a BLOB in any column, and its JSON functions reject it.
      throw error instanceof QueryFailedError ? unreadable(file, 'records', error.message, error) : error;
    });
  }
  return { counts, pending };
}

/** Validates each record as an import does. A `Failure` names the first invalid one. */
async function requireValidRecords(file: string, copy: Config, interrupt: AbortSignal): Promise<void> {
  for (const resource of RESOURCES) {
    await using store = await openRepository(copy, resource, true);
    const read = await recordReader(resource);
    using snapshot = await store.openSnapshot();
    const { plural, pluralText } = resource.name;
    const progress = progressOf('Checked', pluralText);
    let checked = 0;
    for await (const page of snapshot.pages({ order: 'ascending' })) {
      interrupt.throwIfAborted();
      const records = recordsIn(file, page, plural);
      for (const record of records) {
        await read(Buffer.from(JSON.stringify(record))).catch((error: unknown) => {
          if (!(error instanceof BrokenLineError)) throw error;
          const problem = `its record ${record.id} could not be stored by a request: ${error.message}`;
          throw new Failure(`${file} cannot be restored: ${problem}.`);
        });
      }
      checked += records.length;
      progress(checked);
    }
    if (checked < snapshot.usage.count)
      throw unreadable(file, plural, 'some have values that do not fit their columns');
  }
}

/**
 * The records of a page, as clients would get them. The JSON may be invalid: SQLite stores texts that are not UTF-8,
 * and any text in the columns of numbers and dates.
 */
function recordsIn(file: string, page: JsonPage, plural: string): PublicRecord<AnyResourceEntity>[] {
  const json = wholeArray(page.chunks);
  if (!isUtf8(json)) throw unreadable(file, plural, 'they have text that is not in UTF-8');
  try {
    return JSON.parse(json.toString()) as PublicRecord<AnyResourceEntity>[];
  } catch (error) {
    throw unreadable(file, plural, (error as Error).message, error);
  }
}

function unreadable(file: string, plural: string, reason: string, cause?: unknown): Failure {
  return new Failure(`${file} cannot be restored: its ${plural} cannot be listed: ${reason}.`, cause);
}
