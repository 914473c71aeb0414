import type { KnownRecord } from './model-records.js';
import type { Draft } from './model-request.js';
import type { Random } from './random.js';

export interface Condition {
  /** Whether the condition holds; otherwise the response is 412. */
  readonly isMet: boolean;
  /** Whether a read must be 304. */
  readonly isNotModified: boolean;
}

const NONE: Condition = { isMet: true, isNotModified: false };

/** Sometimes adds a condition to a request for a record, and returns its result (RFC 9110 section 13). */
export function condition(draft: Draft, record: KnownRecord | undefined, random: Random): Condition {
  if (draft.path === '/cookies') return listCondition(draft, random);
  if (!random.chance(0.35)) return NONE;
  const isRead = draft.method === 'GET' || draft.method === 'HEAD';
  const values = tags(record);
  const [tag, matches] = random.pick(values);
  if (random.chance(0.5)) {
    draft.headers['if-match'] = tag;
    const isWeak = tag.startsWith('W/');
    return { isMet: matches && !isWeak, isNotModified: false };
  }
  draft.headers['if-none-match'] = tag;
  return isRead ? { isMet: true, isNotModified: matches } : { isMet: !matches, isNotModified: false };
}

/** Values of a condition, and whether each matches the record by weak comparison. */
function tags(record: KnownRecord | undefined): [tag: string, matches: boolean][] {
  const values: [string, boolean][] = [
    ['*', true],
    ['"never"', false],
    ['W/"never", "neither"', false],
    ['unquoted', false],
  ];
  if (record?.staleEtag !== undefined) values.push([record.staleEtag, false]);
  if (record?.etag === undefined) return values;
  const { etag } = record;
  return [...values, [etag, true], [`W/${etag}`, true], [`"never", ${etag}`, true], [etag.replaceAll('"', ''), false]];
}

function listCondition(draft: Draft, random: Random): Condition {
  if (!['GET', 'HEAD'].includes(draft.method) || !random.chance(0.1)) return NONE;
  const [name, value, isMet, isNotModified] = random.pick<[string, string, boolean, boolean]>([
    ['if-none-match', '*', true, true],
    ['if-none-match', '"never"', true, false],
    ['if-match', '"never"', false, false],
    ['if-match', '*', true, false],
  ]);
  draft.headers[name] = value;
  return { isMet, isNotModified };
}
