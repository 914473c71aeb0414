import { once } from 'node:events';
import { connected } from '../raw-http.js';
import type { Endpoint } from '../service.js';

/** Requests in flight on each connection. */
const IN_FLIGHT = 10;

/**
 * Sends requests that are 401 or 403, each with its own id of 128 characters, so that they fill the log.
 * @param token without scopes; its subject makes the lines of the log longer
 */
export async function sendRejectedRequests(
  service: Endpoint,
  count: number,
  { connections = 5, token = '' } = {},
): Promise<void> {
  const each = count / connections;
  const head = `GET /cookies HTTP/1.1\r\nHost: cookies\r\n${token && `Authorization: Bearer ${token}\r\n`}`;
  await Promise.all(Array.from({ length: connections }, (_, index) => sendOnOne(service.url, index, each, head)));
}

async function sendOnOne(url: string, connection: number, count: number, head: string): Promise<void> {
  const socket = await connected(url);
  let [sent, done, rest] = [0, 0, ''];
  const send = (more: number): void => {
    const ids = Array.from({ length: Math.min(more, count - sent) }, () => `${connection}-${++sent}-`.padEnd(128, 'x'));
    socket.write(ids.map((id) => `${head}X-Request-Id: ${id}\r\n\r\n`).join(''));
  };
  socket.on('data', (chunk) => {
    const responses = (rest + chunk.toString('latin1')).split(/HTTP\/1\.1 40[13] /);
    rest = responses.at(-1)!;
    done += responses.length - 1;
    if (done >= count) socket.end();
    else send(responses.length - 1);
  });
  send(IN_FLIGHT);
  await once(socket, 'close');
  expect(done).toBe(count);
}
