import { Agent, request } from 'node:http';
import { COOKIE, token } from '../service.js';

export interface RequestUntilOptions {
  /** Receives the status of every response (0 without one) and its milliseconds. */
  readonly onResponse?: (status: number, milliseconds: number) => void;
}

const ROUND: readonly [string, string, unknown?][] = [
  ['POST', '/cookies', COOKIE],
  ['GET', '/cookies/1'],
  ['GET', '/cookies?limit=5'],
  ['GET', '/cookies/2'],
  ['PUT', '/cookies/3', { flavor: 'cinnamon', size: 'large' }],
];

/**
 * Reads, creates, changes and lists with several clients, each one request after the other, until `signal` aborts.
 * @returns counts by method and status; 0 means no response
 */
export async function requestUntil(
  signal: AbortSignal,
  service: { readonly url: string },
  clients: number,
  { onResponse }: RequestUntilOptions = {},
): Promise<Map<string, number>> {
  const bearer = await token();
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const counts = new Map<string, number>();
  const run = async (first: number): Promise<void> => {
    for (let index = first; !signal.aborted; index++) {
      const [method, path, body] = ROUND[index % ROUND.length]!;
      const began = performance.now();
      const status = await send(agent, bearer, service.url + path, method, body);
      onResponse?.(status, performance.now() - began);
      counts.set(`${method} ${status}`, (counts.get(`${method} ${status}`) ?? 0) + 1);
    }
  };
  try {
    // The clients expect these records.
    for (let index = 0; index < 3; index++) await send(agent, bearer, `${service.url}/cookies`, 'POST', COOKIE);
    await Promise.all(Array.from({ length: clients }, (_, index) => run(index)));
  } finally {
    agent.destroy();
  }
  return counts;
}

function send(agent: Agent, bearer: string, url: string, method: string, body: unknown): Promise<number> {
  return new Promise((resolve) => {
    const headers = {
      authorization: `Bearer ${bearer}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    const sent = request(url, { method, agent, headers });
    sent.on('error', () => resolve(0));
    sent.on('response', (response) => response.resume().on('end', () => resolve(response.statusCode!)));
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
