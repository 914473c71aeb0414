import { createHash } from 'node:crypto';
import { recordLine } from './record-lines.js';
import type { OpenStorage } from './open-storage.js';

/** Count and checksum of all records, as `export` and `import` print them. */
export async function contentsOf({ store, resource }: OpenStorage): Promise<string> {
  const snapshot = await store.openSnapshot();
  try {
    const hash = createHash('sha256');
    let count = 0;
    for await (const page of snapshot.records({})) {
      hash.update(page.map(recordLine).join(''));
      count += page.length;
    }
    return `${resource.name.counted(count)}, sha256 ${hash.digest('hex')}`;
  } finally {
    snapshot.close();
  }
}
