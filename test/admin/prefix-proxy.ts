import { request } from 'node:http';
import { pipeline } from 'node:stream';
import { type LocalServer, startServer } from '../support/local-server.js';

/** Starts a proxy that serves another server below a prefix, and makes ETags weak, as proxies do that compress. */
export async function startPrefixProxy(target: string, prefix: string): Promise<LocalServer> {
  const server = await startServer((incoming, response) => {
    const { url = '', method, headers } = incoming;
    if (!url.startsWith(`${prefix}/`)) {
      response.writeHead(404).end();
      return;
    }
    const outgoing = request(new URL(url.slice(prefix.length), target), { method, headers }, (answer) => {
      const { etag, ...others } = answer.headers;
      response.writeHead(answer.statusCode!, { ...others, ...(etag && { etag: `W/${etag}` }) });
      pipeline(answer, response, () => {});
    });
    outgoing.on('error', () => response.destroy());
    pipeline(incoming, outgoing, () => {});
  });
  return { ...server, url: server.url + prefix };
}
