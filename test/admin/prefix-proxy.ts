import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';

/** A proxy that serves another server below a prefix, and makes ETags weak, as proxies do that compress. */
export class PrefixProxy implements AsyncDisposable {
  private readonly server = createServer((incoming, response) => {
    const { url = '', method, headers } = incoming;
    if (!url.startsWith(`${this.prefix}/`)) {
      response.writeHead(404).end();
      return;
    }
    const outgoing = request(new URL(url.slice(this.prefix.length), this.target), { method, headers }, (answer) => {
      const { etag, ...others } = answer.headers;
      response.writeHead(answer.statusCode!, { ...others, ...(etag && { etag: `W/${etag}` }) });
      pipeline(answer, response, () => {});
    });
    outgoing.on('error', () => response.destroy());
    pipeline(incoming, outgoing, () => {});
  });

  private constructor(
    private readonly target: string,
    private readonly prefix: string,
  ) {}

  static async start(target: string, prefix: string): Promise<PrefixProxy> {
    const proxy = new PrefixProxy(target, prefix);
    await once(proxy.server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}${this.prefix}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    await once(this.server.close(), 'close');
  }
}
