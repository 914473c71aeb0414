import { connect } from 'node:net';
import type { Answer } from './service.js';

/** The bytes of a request from its lines and its body, for requests that `fetch` refuses to send. */
export function request(lines: readonly string[], body: string | Buffer = ''): Buffer {
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)]);
}

/**
 * Sends bytes over a new connection, and returns the responses that arrive before the service closes it.
 * @param end whether to end the sending side, as a client that stops in the middle does
 */
export async function exchange(
  service: { readonly url: string },
  bytes: Buffer,
  { end = false }: { end?: boolean } = {},
): Promise<Answer[]> {
  const { hostname, port } = new URL(service.url);
  const received: Buffer[] = [];
  await new Promise<void>((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    socket.on('data', (chunk) => received.push(chunk));
    socket.on('end', () => socket.end());
    // A service that closes before it has read everything resets the connection. Its responses count.
    socket.on('error', () => {});
    socket.on('close', () => resolve());
    socket.write(bytes);
    if (end) socket.end();
  });
  return responsesIn(Buffer.concat(received));
}

/** Sends one request and returns its only response. */
export async function exchangeOne(...args: Parameters<typeof exchange>): Promise<Answer> {
  const answers = await exchange(...args);
  expect(answers).toHaveLength(1);
  return answers[0]!;
}

/** Parses the responses of a connection, in order. */
export function responsesIn(bytes: Buffer): Answer[] {
  const answers: Answer[] = [];
  let at = 0;
  while (at < bytes.length) {
    const headEnd = bytes.indexOf('\r\n\r\n', at);
    if (headEnd < 0) throw new Error(`Not an HTTP answer: ${bytes.subarray(at).toString('latin1')}`);
    const [statusLine = '', ...lines] = bytes.subarray(at, headEnd).toString('latin1').split('\r\n');
    const headers = new Headers(lines.map((line) => splitOnce(line)));
    at = headEnd + 4;
    let text: string;
    [text, at] = headers.get('transfer-encoding') === 'chunked' ? chunked(bytes, at) : counted(bytes, at, headers);
    const status = Number(statusLine.split(' ')[1]);
    if (status >= 200) answers.push({ status, headers, text, body: text === '' ? undefined : JSON.parse(text) });
  }
  return answers;
}

function splitOnce(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}

function counted(bytes: Buffer, at: number, headers: Headers): [text: string, at: number] {
  const end = at + Number(headers.get('content-length') ?? 0);
  return [bytes.toString('utf8', at, end), end];
}

function chunked(bytes: Buffer, at: number): [text: string, at: number] {
  const chunks: Buffer[] = [];
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = parseInt(bytes.toString('latin1', at, lineEnd), 16);
    at = lineEnd + 2 + size + 2;
    if (!(size > 0)) return [Buffer.concat(chunks).toString('utf8'), at];
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
  }
}
