import { HttpClient, jsonFields } from '../http-client.js';
import { COOKIE, token, type Endpoint } from '../service.js';

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
  service: Endpoint,
  clients: number,
): Promise<Map<string, number>> {
  const bearer = await token();
  using client = new HttpClient(service.url, { connections: clients });
  const send = (method: string, path: string, body?: unknown): Promise<number> =>
    client
      .send(method, path, jsonFields(bearer, body !== undefined), body === undefined ? undefined : JSON.stringify(body))
      .then(
        ({ status }) => status,
        () => 0,
      );
  const counts = new Map<string, number>();
  const run = async (first: number): Promise<void> => {
    for (let index = first; !signal.aborted; index++) {
      const [method, path, body] = ROUND[index % ROUND.length]!;
      const status = await send(method, path, body);
      counts.set(`${method} ${status}`, (counts.get(`${method} ${status}`) ?? 0) + 1);
    }
  };
  // The clients expect these records.
  for (let index = 0; index < 3; index++) await send('POST', '/cookies', COOKIE);
  await Promise.all(Array.from({ length: clients }, (_, index) => run(index)));
  return counts;
}
