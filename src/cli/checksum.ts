import { createHash } from 'node:crypto';
import type { Cookie } from '../cookies/cookie.entity.js';
import type { ResourceStore } from '../resource/store/resource-store.js';
import { recordLine } from '../resource/lines/record-line.js';

/** What the storage holds, as the last line of `export` and `import` says it: equal for equal storages. */
export async function contentsOf(cookies: ResourceStore<Cookie>): Promise<string> {
  const snapshot = await cookies.openSnapshot();
  try {
    const hash = createHash('sha256');
    let count = 0;
    for await (const page of snapshot.records({})) {
      hash.update(page.map(recordLine).join(''));
      count += page.length;
    }
    return `${count} cookies, sha256 ${hash.digest('hex')}`;
  } finally {
    snapshot.close();
  }
}
