import { createHash, type Hash } from 'node:crypto';
import { loadConfigFromProcess } from '../../config/config.js';
import { SETTINGS } from '../../features.js';
import type { Id } from '../../resource/id-kinds.js';
import type { Resource } from '../../resource/resource.js';
import { lastIdLine, recordLine } from '../resources/ndjson.js';
import type { AnyResourceEntity } from '../../resource/resource-entity.js';
import type { ResourceSnapshot } from '../../resource/store/resource-snapshot.js';
import { openStorage } from '../resources/open-storage.js';
import { Progress } from '../output/progress.js';
import { targetOf, writeLines } from '../output/write-lines.js';

export interface ExportOptions {
  readonly output?: string;
  /** Allowed values by property. */
  readonly filters: Readonly<Record<string, readonly string[]>>;
  readonly after?: Id;
  readonly limit?: number;
}

export async function exportRecords(resource: Resource, options: ExportOptions, interrupt: AbortSignal): Promise<void> {
  const config = loadConfigFromProcess(SETTINGS);
  const target = await targetOf(config, options.output);
  await using storage = await openStorage(config, resource, { mayMigrate: false });
  using snapshot = await storage.store.openSnapshot();
  const summary: Summary = { hash: createHash('sha256'), count: 0 };
  const lines = linesOf(resource, snapshot, options, summary);
  if (!(await writeLines(lines, target, interrupt))) return;
  console.error(`Exported ${resource.name.counted(summary.count)}, sha256 ${summary.hash.digest('hex')}`);
}

interface Summary {
  /** SHA-256 of the records' lines. */
  readonly hash: Hash;
  count: number;
}

/** The lines, page by page. Each page is added to the summary. */
async function* linesOf(
  { name }: Resource,
  snapshot: ResourceSnapshot<AnyResourceEntity>,
  { filters, after, limit }: ExportOptions,
  summary: Summary,
): AsyncGenerator<string> {
  const isFiltered = Object.keys(filters).length > 0;
  const isWhole = !isFiltered && after === undefined && limit === undefined;
  const total = isFiltered || after ? undefined : Math.min(snapshot.usage.count, limit ?? Infinity);
  const progress = new Progress({ done: 'Exported', unit: name.pluralText }, total);
  let last: Id = 0;
  try {
    for await (const page of snapshot.records({ filters, after }, limit)) {
      const text = page.map(recordLine).join('');
      summary.hash.update(text);
      summary.count += page.length;
      last = page.at(-1)!.id;
      yield text;
      progress.update(summary.count);
    }
    const given = isWhole ? await snapshot.lastGivenId() : 0;
    if (typeof last === 'number' && given > last) yield lastIdLine(given);
  } finally {
    progress.stop();
  }
}
