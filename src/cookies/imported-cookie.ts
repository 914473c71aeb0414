import { isUtf8 } from 'node:buffer';
import { FLAVORS, SIZES, WISH_LENGTH } from './cookie.values.js';
import type { ImportCookieDto } from './dto/import-cookie.dto.js';

/** A line that is no cookie; the message says what is wrong with it and what would be right. */
export class BrokenLineError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BrokenLineError';
  }
}

const EXAMPLE = '{"id":1,"flavor":"vanilla","size":"small","wish":"Rain"}';

/**
 * Reads a cookie from one line of NDJSON, by the rules that POST has for a body; a member that comes twice is refused, too.
 * @throws {BrokenLineError}
 */
export async function readCookieLine(line: Uint8Array): Promise<ImportCookieDto> {
  const text = textOf(line);
  const value = parse(text);
  if (!isPlainlyRight(value)) await validate(value);
  // What is written as this service writes it has no member twice.
  if (JSON.stringify(value) !== text) refuseRepeatedMembers(text);
  return value as ImportCookieDto;
}

function textOf(line: Uint8Array): string {
  if (!isUtf8(line)) throw new BrokenLineError('it is not valid UTF-8');
  const text = Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString('utf8');
  if (text.charCodeAt(0) === 0xfeff) throw new BrokenLineError('it begins with a byte-order mark; leave that out');
  if (text.trim() === '') throw new BrokenLineError(`it is empty; each line must be a cookie such as ${EXAMPLE}`);
  return text;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new BrokenLineError(
      `it is not valid JSON (${(error as Error).message}); a line must be a cookie such as ${EXAMPLE}`,
    );
  }
}

const MEMBERS = new Set(['id', 'flavor', 'size', 'wish']);

/**
 * The rules of `ImportCookieDto` in a form that is quick enough for millions of lines. It may doubt what is right (the class
 * then has the last word), but must never pass what the class refuses; a test compares them.
 */
export function isPlainlyRight(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  for (const name in value) if (!MEMBERS.has(name)) return false;
  const { id, flavor, size, wish } = value as Record<string, unknown>;
  return (
    (id === undefined ? !Object.hasOwn(value, 'id') : Number.isSafeInteger(id) && (id as number) >= 1) &&
    FLAVORS.includes(flavor as never) &&
    SIZES.includes(size as never) &&
    typeof wish === 'string' &&
    wish.length >= 1 &&
    wish.length <= WISH_LENGTH &&
    !wish.includes('\0') &&
    wish.isWellFormed()
  );
}

/** By the class, which is loaded for the first line that needs it: it brings class-validator and the decorators of OpenAPI. */
async function validate(value: unknown): Promise<void> {
  const { ApiError } = await import('../http/api-error.js');
  const { validMembers } = await import('../http/validate.js');
  const { ImportCookieDto } = await import('./dto/import-cookie.dto.js');
  try {
    validMembers(ImportCookieDto, value);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const faults = (error.details ?? []).map((fault) => {
      const member = 'pointer' in fault ? fault.pointer.slice(1) : fault.parameter;
      return member === '' ? `it ${fault.message}` : `"${member}" ${fault.message}`;
    });
    throw new BrokenLineError(faults.join('; '));
  }
}

/** Of a member that comes twice JSON.parse keeps the last; a request may do so, but a file that does has been damaged. */
function refuseRepeatedMembers(text: string): void {
  const seen = new Set<string>();
  // The text is an object of plain values by now: a string before a colon is the name of a member.
  for (const [, literal, colon] of text.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?/g)) {
    if (colon === undefined) continue;
    const name = JSON.parse(literal!) as string;
    if (seen.has(name)) throw new BrokenLineError(`"${name}" comes twice; give each member once`);
    seen.add(name);
  }
}
