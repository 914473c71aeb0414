import { loadConfigFromProcess } from '../config/config.js';
import { SETTINGS } from '../features.js';
import type { Id } from '../resource/id-kinds.js';
import type { AnyResourceEntity } from '../resource/resource-entity.js';
import type { Resource } from '../resource/resource.js';
import type { ResourceSnapshot } from '../resource/store/resource-snapshot.js';
import { progressOf } from './output/progress.js';
import { LineSummary, writeLines } from './output/write-lines.js';
import { openRepository } from './resources/open-storage.js';

export interface ExportOptions {
  readonly output?: string;
  readonly filters: Readonly<Record<string, readonly string[]>>;
  readonly after?: Id;
  readonly limit?: number;
}

export async function exportRecords(
  resource: Resource,
  options: ExportOptions,
  interrupt: () => AbortSignal,
): Promise<void> {
  const config = loadConfigFromProcess(SETTINGS);
  await using store = await openRepository(config, resource);
  using snapshot = await store.openSnapshot();
  const summary = new LineSummary();
  const lines = linesOf(resource, snapshot, options, summary);
  if (!(await writeLines(config, options.output, lines, interrupt()))) return;
  console.error(`Exported ${resource.name.counted(summary.count)}, sha256 ${summary.digest()}`);
}

/** Yields the lines page by page. The summary covers the records, but not a `lastId` line. */
async function* linesOf(
  { name }: Resource,
  snapshot: ResourceSnapshot<AnyResourceEntity>,
  { filters, after, limit }: ExportOptions,
  summary: LineSummary,
): AsyncGenerator<string> {
  const isFiltered = Object.keys(filters).length > 0;
  const isWhole = !isFiltered && after === undefined && limit === undefined;
  const total = isFiltered || after ? undefined : Math.min(snapshot.usage.count, limit ?? Infinity);
  const progress = progressOf('Exported', name.pluralText);
  const position = after === undefined ? undefined : { value: after, id: after };
  let last: Id = 0;
  for await (const page of snapshot.records({ filters, order: 'ascending', after: position }, limit)) {
    last = page.at(-1)!.id;
    yield summary.add(page);
    progress(summary.count, total);
  }
  const given = isWhole ? await snapshot.lastGivenId() : 0;
  // The import continues after this id.
  if (typeof last === 'number' && given > last) yield `${JSON.stringify({ lastId: given })}\n`;
}
