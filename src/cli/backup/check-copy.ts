import type { Config } from '../../config/config.js';
import { RESOURCES } from '../../features.js';
import type { AnyResourceEntity, PublicRecord } from '../../resource/resource-entity.js';
import { Failure } from '../command-errors.js';
import { progressOf } from '../output/progress.js';
import { openRepository } from '../resources/open-storage.js';
import { BrokenLineError, type ReadRecord, recordReader } from '../resources/record-lines.js';
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
  // The pending migrations, which the check of the records runs, may add records.
  return { counts: skipRecordCheck ? counts : await validRecords(file, atPath(config, copy), interrupt), pending };
}

/** Validates and counts the records of each resource, as an import does. A `Failure` names the first invalid one. */
async function validRecords(file: string, copy: Config, interrupt: AbortSignal): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const resource of RESOURCES) {
    await using store = await openRepository(copy, resource, true);
    const read = await recordReader(resource);
    using snapshot = await store.openSnapshot();
    const { plural, pluralText } = resource.name;
    const progress = progressOf('Checked', pluralText);
    let checked = 0;
    try {
      for await (const records of snapshot.records({ order: 'ascending' })) {
        interrupt.throwIfAborted();
        for (const record of records) await requireValid(record, read);
        checked += records.length;
        progress(checked);
      }
      if (checked < snapshot.usage.count) throw new Error('some records have values that do not fit their columns');
      counts.set(plural, checked);
    } catch (error) {
      interrupt.throwIfAborted();
      const { message } = error as Error;
      const problem = error instanceof Failure ? message : `its ${plural} cannot be listed: ${message}`;
      throw new Failure(`${file} cannot be restored: ${problem}.`, error);
    }
  }
  return counts;
}

async function requireValid(record: PublicRecord<AnyResourceEntity>, read: ReadRecord): Promise<void> {
  await read(Buffer.from(JSON.stringify(record))).catch((error: unknown) => {
    if (!(error instanceof BrokenLineError)) throw error;
    const problem = `its record ${record.id} could not be stored by a request: ${error.message}`;
    throw new Failure(`${problem}; change it, or use --skip-record-check`);
  });
}
