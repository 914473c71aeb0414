import type { CookieRecord } from '../cookies/cookies-snapshot.js';

/** A cookie as a line of NDJSON: the same text for the same cookie, whatever engine it comes from, so that checksums agree. */
export function cookieLine({ id, flavor, size, wish }: CookieRecord): string {
  return `${JSON.stringify({ id, flavor, size, wish })}\n`;
}
