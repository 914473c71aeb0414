import { parseNatural } from '../../http/validation/query-values.js';

/**
 * A record as a line of NDJSON. Both engines give the same line for a record, so checksums agree.
 * @param record from `records` of a snapshot, which has the properties in the order of the resource's columns
 */
export function recordLine(record: object): string {
  return `${JSON.stringify(record)}\n`;
}

/** The last line of an export when the id sequence is ahead of the last record. The import continues after this id. */
export function lastIdLine(lastId: number): string {
  return `${JSON.stringify({ lastId })}\n`;
}

/** Longest `lastId` line in bytes, with any white space. */
const LAST_ID_LENGTH = 64;

/** Reads the id of a `lastId` line; `undefined` for any other line. */
export function readLastIdLine(line: Buffer): number | undefined {
  if (line.length > LAST_ID_LENGTH) return undefined;
  const [, id] = /^\s*\{\s*"lastId"\s*:\s*([1-9][0-9]*)\s*\}\s*$/.exec(line.toString()) ?? [];
  return id === undefined ? undefined : parseNatural(id);
}
