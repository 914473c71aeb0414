import { BODY_LIMIT } from '../../http/body/body-limit.js';
import { parseNatural } from '../../http/validation/query-values.js';

/** A line of the input without its line end; `bytes` is absent when it is too long. */
export interface Line {
  /** From 1 up. */
  readonly number: number;
  readonly bytes?: Buffer;
}

const NEWLINE = 0x0a;

/** Splits a stream of bytes into lines. The last line needs no line end. */
export async function* linesOf(input: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let number = 0;
  let rest: Buffer = Buffer.alloc(0);
  // A line beyond the limit of a request body is not kept in memory.
  const line = (bytes: Buffer): Line => (bytes.length > BODY_LIMIT ? { number } : { number, bytes });
  for await (const chunk of input) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const bytes = chunk.subarray(start, end);
      number++;
      yield line(rest.length > 0 ? Buffer.concat([rest, bytes]) : bytes);
      rest = rest.subarray(0, 0);
      start = end + 1;
    }
    if (rest.length <= BODY_LIMIT) rest = Buffer.concat([rest, chunk.subarray(start)]);
  }
  number++;
  if (rest.length > 0) yield line(rest);
}

/** The id of a `lastId` line; `undefined` for any other line. */
export function readLastIdLine(line: Buffer): number | undefined {
  const [, id] = /^\s*\{\s*"lastId"\s*:\s*([1-9][0-9]*)\s*\}\s*$/.exec(line.toString()) ?? [];
  return id === undefined ? undefined : parseNatural(id);
}
