import { createHash } from 'node:crypto';
import type { CookiesRepository } from '../cookies/cookies.repository.js';
import { cookieLine } from './cookie-line.js';

/** What the storage holds, as the last line of `export` and `import` says it: equal for equal storages. */
export async function contentsOf(cookies: CookiesRepository): Promise<string> {
  const snapshot = await cookies.openSnapshot();
  try {
    const hash = createHash('sha256');
    let count = 0;
    for await (const page of snapshot.records({ order: 'ascending' })) {
      hash.update(page.map(cookieLine).join(''));
      count += page.length;
    }
    return `${count} cookies, sha256 ${hash.digest('hex')}`;
  } finally {
    snapshot.close();
  }
}
