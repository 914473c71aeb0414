import { createHash } from 'node:crypto';
import { loadConfigFromProcess } from '../../config/config.js';
import { openSnapshot, type Snapshot } from '../../database/engine.js';
import { SETTINGS } from '../../features.js';
import { allLines, chainsOf, publicLine } from '../../resource/audit/audit-lines.js';
import { UsageError } from '../command-errors.js';
import { targetOf, writeLines } from '../output/write-lines.js';
import { openDatabase } from '../resources/open-storage.js';

/** Writes the lines of one resource, or of all, as NDJSON. */
export async function exportAudit(
  resource: string | undefined,
  output: string | undefined,
  interrupt: AbortSignal,
): Promise<void> {
  const config = loadConfigFromProcess(SETTINGS);
  const target = await targetOf(config, output);
  await using dataSource = await openDatabase(config, { mayMigrate: false });
  const snapshot = await openSnapshot(dataSource);
  try {
    const known = (await chainsOf(snapshot)).map((chain) => chain.resource);
    if (resource !== undefined && !known.includes(resource)) {
      throw new UsageError(`There is no audit trail of ${resource}; there are: ${known.join(', ') || 'none'}`);
    }
    const summary = { hash: createHash('sha256'), count: 0 };
    const lines = linesOf(snapshot, resource === undefined ? known : [resource], summary);
    if (!(await writeLines(lines, target, interrupt))) return;
    console.error(`Exported ${summary.count} lines, sha256 ${summary.hash.digest('hex')}`);
  } finally {
    snapshot.close();
  }
}

async function* linesOf(
  snapshot: Snapshot,
  resources: readonly string[],
  summary: { readonly hash: ReturnType<typeof createHash>; count: number },
): AsyncGenerator<string> {
  for (const resource of resources) {
    for await (const page of allLines(snapshot, resource)) {
      const text = page.map((line) => `${JSON.stringify(publicLine(line))}\n`).join('');
      summary.hash.update(text);
      summary.count += page.length;
      yield text;
    }
  }
}
