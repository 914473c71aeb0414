/** The tokens of the fuzzer's clients. */
export interface Tokens {
  readonly both: string;
  readonly read: string;
  readonly write: string;
  /** A token signed with another key. */
  readonly forged: string;
}

/** One request as bytes, in latin1. */
export interface Message {
  /** Its unique `X-Request-Id`. */
  readonly id: string;
  readonly bytes: string;
  readonly method: string;
  /** Allowed statuses; absent for mutated bytes. */
  readonly expected?: readonly number[];
  /** Whether its body is incomplete. Then 400 is allowed, too, if the client ended its side before the token check. */
  readonly isUnfinished?: boolean;
}

export interface MessageParts {
  readonly id: string;
  readonly method: string;
  readonly target: string;
  readonly headers?: readonly string[];
  readonly body?: string;
}

/** A well-formed HTTP/1.1 request. A body gets its Content-Length. */
export function messageBytes({ id, method, target, headers = [], body }: MessageParts): string {
  const length = body === undefined ? '' : `Content-Length: ${body.length}\r\n`;
  const fields = headers.map((field) => `${field}\r\n`).join('');
  return `${method} ${target} HTTP/1.1\r\nHost: cookies\r\nX-Request-Id: ${id}\r\n${fields}${length}\r\n${body ?? ''}`;
}

/** A text as UTF-8 bytes in latin1. */
export function utf8(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** Readable bytes, as JSON text. Tokens are written by name, and long runs of one byte are cut. */
export function escapedBytes(bytes: string, tokens: Tokens): string {
  let named = bytes;
  for (const [name, token] of Object.entries(tokens)) named = named.replaceAll(token as string, `{token:${name}}`);
  const short = named.replaceAll(/(.)\1{99,}/gs, (run, byte: string) => `${byte}...(${run.length} times)...`);
  return JSON.stringify(short).slice(0, 3000);
}
