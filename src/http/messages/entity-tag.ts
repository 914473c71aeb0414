const ENTITY_TAG = /(W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/** Whether the list of a condition has the tag; a weak tag never compares equal in a strong comparison. */
export function hasEntityTag(list: string, etag: string, comparison: 'strong' | 'weak'): boolean {
  if (list.trim() === '*') return true;
  for (const [, weak, tag] of list.matchAll(ENTITY_TAG)) {
    if (tag === etag && (weak === undefined || comparison === 'weak')) return true;
  }
  return false;
}
