import { parseNatural } from '../../http/validation/parse-natural.js';

/**
 * A record as a line of NDJSON: the same string for the same record, whatever engine it comes from, so that checksums agree.
 * @param record with its properties in the order of the resource's columns, as `records` of a snapshot gives it
 */
export function recordLine(record: object): string {
  return `${JSON.stringify(record)}\n`;
}

/**
 * The line behind the last record of an export, where ids beyond that record's have been given: what imports it gives none of
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
