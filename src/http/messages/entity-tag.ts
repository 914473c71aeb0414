const ENTITY_TAG = /(W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/** Whether the list in `If-Match` or `If-None-Match` has the tag. In a strong comparison a weak tag never matches. */
export function hasEntityTag(list: string, etag: string, comparison: 'strong' | 'weak'): boolean {
  if (list.trim() === '*') return true;
  for (const [, weak, tag] of list.matchAll(ENTITY_TAG)) {
    if (tag === etag && (weak === undefined || comparison === 'weak')) return true;
  }
  return false;
}
