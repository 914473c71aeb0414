import { parseNatural } from '../http/parse-natural.js';
import type { Cookie } from '../cookies/cookie.entity.js';
import type { RecordOf } from '../resource/store/resource-entity.js';

/** A cookie as a line of NDJSON: the same text for the same cookie, whatever engine it comes from, so that checksums agree. */
export function cookieLine({ id, flavor, size, wish }: RecordOf<Cookie>): string {
  return `${JSON.stringify({ id, flavor, size, wish })}\n`;
}

/**
 * The line behind the last cookie of an export, where ids beyond that cookie's have been given: what imports it gives none of
 * them again.
 */
export function lastIdLine(lastId: number): string {
  return `${JSON.stringify({ lastId })}\n`;
}

/** The longest such line, in bytes, however it is spaced. */
const LAST_ID_LENGTH = 64;

/** The id that such a line names; `undefined` for any other line. */
export function readLastIdLine(line: Buffer): number | undefined {
  if (line.length > LAST_ID_LENGTH) return undefined;
  const [, id] = /^\s*\{\s*"lastId"\s*:\s*([1-9][0-9]*)\s*\}\s*$/.exec(line.toString()) ?? [];
  return id === undefined ? undefined : parseNatural(id);
}
