/** What a client of the fuzzer may be allowed. */
export interface Tokens {
  readonly both: string;
  readonly read: string;
  readonly write: string;
  /** Well-formed, signed with another key. */
  readonly forged: string;
}

/** One request as bytes, each kept as a character of the same code (latin1). */
export interface Message {
  /** Its `X-Request-Id`, sent by no other message. */
  readonly id: string;
  readonly bytes: string;
  readonly method: string;
  /** Statuses that a right service answers it with; absent when its bytes were mutated. */
  readonly expected?: readonly number[];
}

export interface MessageParts {
  readonly id: string;
  readonly method: string;
  readonly target: string;
  readonly headers?: readonly string[];
  readonly body?: string;
}

/** A well-formed HTTP/1.1 request; a body gets its Content-Length. */
export function messageBytes({ id, method, target, headers = [], body }: MessageParts): string {
  const length = body === undefined ? '' : `Content-Length: ${body.length}\r\n`;
  const fields = headers.map((field) => `${field}\r\n`).join('');
  return `${method} ${target} HTTP/1.1\r\nHost: cookies\r\nX-Request-Id: ${id}\r\n${fields}${length}\r\n${body ?? ''}`;
}

/** A text as its UTF-8 bytes, each as one character. */
export function utf8(text: string): string {
  return Buffer.from(text).toString('latin1');
}
