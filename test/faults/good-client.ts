import { setTimeout as sleep } from 'node:timers/promises';
import { HttpClient, jsonFields, jsonOf } from '../support/http-client.js';
import { COOKIE } from '../support/service.js';

/** Milliseconds between two rounds of requests. */
const INTERVAL = 100;
/** Milliseconds after which a request has failed. */
const LONGEST = 10_000;
/** Maximum number of concurrent rounds; more would be an attack. */
const MOST_ROUNDS = 20;

export interface Experience {
  readonly requests: number;
  readonly failed: number;
  readonly firstFailure?: string;
  /** Percentiles in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly ids: readonly string[];
}

/** An ordinary client at an address that no attacker has: it writes, reads, lists and deletes at a modest rate. */
export class GoodClient {
  private readonly client: HttpClient;
  private requests = 0;

  /** @param list path of a long list that it also reads, every second */
  constructor(
    url: string,
    private readonly bearer: string,
    private readonly list?: string,
  ) {
    this.client = new HttpClient(url, { connections: MOST_ROUNDS, localAddress: '127.0.0.2', patience: LONGEST });
  }

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
    this.client.close();
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

  /** @returns the HTTP status, or the error code if there is no response */
  private async send(
    method: string,
    path: string,
    id: string,
    body?: object,
  ): Promise<{ status: number | string; body?: any }> {
    const headers = { ...jsonFields(this.bearer, body !== undefined), 'x-request-id': id };
    try {
      const response = await this.client.send(method, path, headers, body && JSON.stringify(body));
      return { status: response.status, body: jsonOf(response) };
    } catch (error) {
      const { code, message } = error as Error & { code?: string };
      return { status: code ?? message };
    }
  }
}
