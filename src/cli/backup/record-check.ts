import { isUtf8 } from 'node:buffer';
import type { Config } from '../../config/config.js';
import { RESOURCES } from '../../features.js';
import { wholeArray } from '../../resource/lists/json-array.js';
import type { PublicRecord, AnyResourceEntity } from '../../resource/resource-entity.js';
import { Failure } from '../command-errors.js';
import { Progress } from '../output/progress.js';
import { openStorage } from '../resources/open-storage.js';
import { recordLine } from '../resources/ndjson.js';
import { BrokenLineError, RecordReader } from '../resources/record-lines.js';

/**
 * Validates every record of a copy with its DTO class, as an import does.
 * @param file names the backup in messages
 * @param copy the configuration with the copy as the database
 * @throws {Failure} naming the first invalid record
 */
export async function requireValidRecords(file: string, copy: Config, interrupt: AbortSignal): Promise<void> {
  for (const resource of RESOURCES) {
    await using storage = await openStorage(copy, resource, { mayMigrate: true });
    const reader = await RecordReader.of(resource);
    using snapshot = await storage.store.openSnapshot();
    const { plural, pluralText } = resource.name;
    const progress = new Progress({ done: 'Checked', unit: pluralText });
    let checked = 0;
    try {
      for await (const { chunks } of snapshot.pages({ order: 'ascending' })) {
        interrupt.throwIfAborted();
        const records = recordsIn(file, chunks, plural);
        for (const record of records) await requireValid(file, record, reader);
        progress.update((checked += records.length));
      }
      if (checked < snapshot.usage.count)
        throw notShown(file, plural, 'some have values that are not of their columns');
    } finally {
      progress.stop();
    }
  }
}

async function requireValid(
  file: string,
  record: PublicRecord<AnyResourceEntity>,
  reader: RecordReader<AnyResourceEntity>,
): Promise<void> {
  try {
    await reader.read(Buffer.from(recordLine(record).trimEnd()));
  } catch (error) {
    if (!(error instanceof BrokenLineError)) throw error;
    throw new Failure(
      `${file} cannot be restored: its record ${record.id} is none that could be stored: ${error.message}.`,
    );
  }
}

/**
 * The records of a page, as clients would get them. The engine writes the JSON from what the file has: SQLite stores
 * texts that are no UTF-8, and numbers and dates that are none.
 * @throws {Failure}
 */
function recordsIn(file: string, chunks: readonly Buffer[], plural: string): PublicRecord<AnyResourceEntity>[] {
  const json = wholeArray(chunks);
  if (!isUtf8(json)) throw notShown(file, plural, 'they have text that is not in UTF-8');
  try {
    return JSON.parse(json.toString()) as PublicRecord<AnyResourceEntity>[];
  } catch (error) {
    throw notShown(file, plural, (error as Error).message, error);
  }
}

function notShown(file: string, plural: string, reason: string, cause?: unknown): Failure {
  return new Failure(`${file} cannot be restored: no list could show its ${plural}: ${reason}.`, cause);
}
