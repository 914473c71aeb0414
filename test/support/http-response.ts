/** A response with decoded chunks. */
export interface HttpResponse {
  readonly status: number;
  /** Header fields by name in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly content: Buffer;
}

/** The bytes are no complete HTTP/1.1 response. */
export class MalformedResponseError extends Error {}

export interface Framing {
  /** Whether the request was HEAD; `unknown` if its bytes were mutated. Then the bytes of the response decide. */
  readonly head: boolean | 'unknown';
  /** Whether the connection has ended. */
  readonly ended: boolean;
}

export interface ParsedResponse {
  readonly response: HttpResponse;
  /** Offset of the next response. */
  readonly next: number;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const STATUS_LINE = /^HTTP\/1\.1 ([1-5]\d\d) [\t\x20-\x7e\x80-\xff]*$/;
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*$/;
const NOTHING = Buffer.alloc(0);

/**
 * Parses the response at an offset, strictly by RFC 9112; `undefined` while more bytes may complete it.
 * @throws {MalformedResponseError}
 */
export function parseResponse(bytes: Buffer, at: number, framing: Framing): ParsedResponse | undefined {
  const headEnd = bytes.indexOf(HEAD_END, at);
  if (headEnd < 0) return incomplete(framing, 'The head of a response is cut off', bytes, at);
  const [statusLine = '', ...lines] = bytes.toString('latin1', at, headEnd).split('\r\n');
  const status = Number(STATUS_LINE.exec(statusLine)?.[1]);
  if (!status) throw new MalformedResponseError(`Not a status line: ${JSON.stringify(statusLine.slice(0, 200))}`);
  const headers = fields(lines);
  const start = headEnd + HEAD_END.length;
  if (status < 200 || status === 204 || status === 304 || hasNoContent(bytes, start, framing)) {
    return { response: { status, headers, content: NOTHING }, next: start };
  }
  const found = content(bytes, start, headers, framing);
  return found && { response: { status, headers, content: found.content }, next: found.next };
}

function fields(lines: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const match = FIELD.exec(line);
    if (match === null) throw new MalformedResponseError(`Not a header field: ${JSON.stringify(line.slice(0, 200))}`);
    const name = match[1]!.toLowerCase();
    if (headers.has(name)) throw new MalformedResponseError(`The field ${name} comes twice`);
    headers.set(name, match[2]!);
  }
  return headers;
}

/** For an unknown method, the bytes after the header section decide: content never begins like a response. */
function hasNoContent(bytes: Buffer, start: number, { head, ended }: Framing): boolean {
  if (head !== 'unknown') return head;
  return start === bytes.length ? ended : bytes.toString('latin1', start, start + 9) === 'HTTP/1.1 ';
}

interface Content {
  readonly content: Buffer;
  readonly next: number;
}

function content(bytes: Buffer, start: number, headers: Map<string, string>, framing: Framing): Content | undefined {
  if (headers.get('transfer-encoding') === 'chunked') {
    if (headers.has('content-length')) throw new MalformedResponseError('A response has two lengths');
    return chunked(bytes, start, framing);
  }
  const length = headers.get('content-length');
  if (length === undefined) {
    // The content ends with the connection (RFC 9112 section 6.3).
    return framing.ended ? { content: bytes.subarray(start), next: bytes.length } : undefined;
  }
  const end = start + Number(length);
  if (!/^\d+$/.test(length)) throw new MalformedResponseError(`Not a length: ${length}`);
  if (end > bytes.length) return incomplete(framing, 'The content of a response is cut off', bytes, start);
  return { content: bytes.subarray(start, end), next: end };
}

function chunked(bytes: Buffer, start: number, framing: Framing): Content | undefined {
  const chunks: Buffer[] = [];
  for (let at = start; ;) {
    const lineEnd = bytes.indexOf('\r\n', at, 'latin1');
    if (lineEnd < 0) return incomplete(framing, 'A chunked response is cut off', bytes, at);
    const size = bytes.toString('latin1', at, lineEnd);
    if (!/^[0-9A-Fa-f]{1,8}$/.test(size)) {
      throw new MalformedResponseError(`Not the size of a chunk: ${JSON.stringify(size.slice(0, 50))}`);
    }
    const end = lineEnd + 2 + parseInt(size, 16);
    if (end + 2 > bytes.length) return incomplete(framing, 'A chunked response is cut off', bytes, at);
    if (bytes.toString('latin1', end, end + 2) !== '\r\n') throw new MalformedResponseError('A chunk has another size');
    if (end === lineEnd + 2) return { content: Buffer.concat(chunks), next: end + 2 };
    chunks.push(bytes.subarray(lineEnd + 2, end));
    at = end + 2;
  }
}

function incomplete({ ended }: Framing, message: string, bytes: Buffer, at: number): undefined {
  if (!ended) return undefined;
  throw new MalformedResponseError(`${message}: ${JSON.stringify(bytes.toString('latin1', at, at + 200))}`);
}
