import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { COOKIE } from '../support/service.js';

/** Milliseconds between two rounds of requests. */
const INTERVAL = 100;
/** Milliseconds after which a request has failed. */
const LONGEST = 10_000;
/** Most rounds at a time; more would be an attack. */
const MOST_ROUNDS = 20;

export interface Experience {
  readonly requests: number;
  /** Requests without the right response. */
  readonly failed: number;
  /** The first failure. */
  readonly firstFailure?: string;
  /** Percentiles in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Ids of the answered requests. */
  readonly ids: readonly string[];
}

/** An ordinary client at an address that no attacker has: it writes, reads, lists and deletes at a modest rate. */
export class GoodClient {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: MOST_ROUNDS });
  private requests = 0;

  /** @param list path of a long list that it also reads, every second */
  constructor(
    private readonly url: string,
    private readonly bearer: string,
    private readonly list?: string,
  ) {}

  /** Sends requests until `signal` aborts, and returns the results. */
  async use(signal: AbortSignal): Promise<Experience> {
    const times: number[] = [];
    const failures: string[] = [];
    const ids: string[] = [];
    const rounds = new Set<Promise<void>>();
    const ask = async (method: string, path: string, status: number, body?: object): Promise<any> => {
      const began = performance.now();
      const id = `good-${this.requests++}`;
      const response = await this.send(method, path, id, body);
      if (path !== this.list) times.push(performance.now() - began);
      if (response.status === status) ids.push(id);
      else failures.push(`${method} ${path}: ${response.status}`);
      return response.body;
    };
    for (let round = 0; !signal.aborted; round++) {
      if (rounds.size < MOST_ROUNDS) {
        const done: Promise<void> = this.round(ask, round).finally(() => rounds.delete(done));
        rounds.add(done);
      }
      await sleep(INTERVAL);
    }
    await Promise.all(rounds);
    times.sort((a, b) => a - b);
    const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? NaN;
    const [firstFailure] = failures;
    return { requests: times.length, failed: failures.length, firstFailure, p50: at(0.5), p99: at(0.99), ids };
  }

  close(): void {
    this.agent.destroy();
  }

  private async round(
    ask: (method: string, path: string, status: number, body?: object) => Promise<any>,
    round: number,
  ): Promise<void> {
    const created = await ask('POST', '/cookies', 201, COOKIE);
    if (created?.id === undefined) return;
    await ask('GET', `/cookies/${created.id}`, 200);
    await ask('GET', '/cookies?limit=10&sort=-id', 200);
    await ask('DELETE', `/cookies/${created.id}`, 204);
    if (this.list !== undefined && round % 10 === 0) await ask('GET', this.list, 200);
  }

  private send(
    method: string,
    path: string,
    id: string,
    body?: object,
  ): Promise<{ status: number | string; body?: any }> {
    return new Promise((resolve) => {
      const sent = request(this.url + path, {
        method,
        agent: this.agent,
        localAddress: '127.0.0.2',
        headers: {
          authorization: `Bearer ${this.bearer}`,
          'x-request-id': id,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
      });
      const timer = setTimeout(() => sent.destroy(new Error(`no response within ${LONGEST} ms`)), LONGEST);
      sent.on('close', () => clearTimeout(timer));
      const failed = (error: Error & { code?: string }): void => resolve({ status: error.code ?? error.message });
      sent.on('error', failed);
      sent.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', failed);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode!, body: text === '' ? undefined : JSON.parse(text) });
        });
      });
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}
