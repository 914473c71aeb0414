import { once } from 'node:events';
import { connect, type Socket, type TcpNetConnectOpts } from 'node:net';
import { jsonOf } from './http-client.js';
import { parseResponse } from './http-response.js';
import type { Answer, Endpoint } from './service.js';

/** Opens a connection to a URL. The service may reset it later, which is no error. */
export async function connected(url: string, options: Partial<TcpNetConnectOpts> = {}): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), ...options });
  await once(socket, 'connect');
  return socket.on('error', () => {});
}

/** The bytes of a request from its lines and its body, for requests that `fetch` refuses to send. */
export function request(lines: readonly string[], body: string | Buffer = ''): Buffer {
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)]);
}

/**
 * Sends bytes over a new connection, and returns the responses that arrive before the service closes it.
 * @param end whether to end the sending side, as a client that stops early does
 */
export async function exchange(service: Endpoint, bytes: Buffer, { end = false } = {}): Promise<Answer[]> {
  // A service that closes before it has read everything resets the connection. The responses before that still count.
  const socket = await connected(service.url, { allowHalfOpen: true });
  const received: Buffer[] = [];
  socket.on('data', (chunk) => received.push(chunk));
  socket.on('end', () => socket.end());
  socket.write(bytes);
  if (end) socket.end();
  await new Promise((resolve) => socket.on('close', resolve));
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
  for (let at = 0; at < bytes.length;) {
    const { response, next } = parseResponse(bytes, at, { head: 'unknown', ended: true })!;
    const { status, headers, content } = response;
    const text = content.toString();
    if (status >= 200) answers.push({ status, headers: new Headers([...headers]), text, body: jsonOf(response) });
    at = next;
  }
  return answers;
}
