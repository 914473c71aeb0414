import { Agent, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { HttpResponse } from './http-response.js';

export interface HttpClientOptions {
  /** Maximum number of concurrent connections. */
  readonly connections?: number;
  readonly localAddress?: string;
  /** Longest wait for a whole response, in milliseconds. */
  readonly patience?: number;
}

export type Fields = Record<string, string | string[]>;

/** A client with keep-alive connections that sends requests which `fetch` would reject or change. */
export class HttpClient implements Disposable {
  private readonly agent: Agent;

  constructor(
    private readonly url: string,
    private readonly options: HttpClientOptions = {},
  ) {
    this.agent = new Agent({ keepAlive: true, maxSockets: options.connections ?? 1 });
  }

  /** @throws {Error} when the connection breaks before the response is complete, or `patience` is over */
  send(method: string, path: string, headers: Fields, body?: string | Uint8Array): Promise<HttpResponse> {
    const { localAddress, patience = 30_000 } = this.options;
    return new Promise((resolve, reject) => {
      const { hostname, port } = new URL(this.url);
      const sent = request({ hostname, port, path, method, agent: this.agent, localAddress, headers });
      const timer = setTimeout(() => sent.destroy(new Error(`No response within ${patience} ms`)), patience);
      sent.on('close', () => clearTimeout(timer));
      sent.on('error', reject);
      sent.on('response', (response) => {
        const fields = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const);
        buffer(response).then(
          (content) => resolve({ status: response.statusCode!, headers: new Map(fields), content }),
          reject,
        );
      });
      sent.end(body);
    });
  }

  close(): void {
    this.agent.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** The headers of a request with a token and, if it has a body, of JSON. */
export function jsonFields(bearer: string, hasBody: boolean): Fields {
  return { authorization: `Bearer ${bearer}`, ...(hasBody && { 'content-type': 'application/json' }) };
}

/** The content of a response as JSON; `undefined` if it has none. */
export function jsonOf({ content }: HttpResponse): any {
  return content.length === 0 ? undefined : JSON.parse(content.toString());
}
