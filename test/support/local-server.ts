import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface LocalServer extends AsyncDisposable {
  readonly url: string;
}

/** Starts an HTTP server of a test. @param port default: a free one */
export async function startServer(listener: RequestListener, port = 0): Promise<LocalServer> {
  const server = createServer(listener).listen(port, '127.0.0.1');
  await once(server, 'listening');
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await once(server.close(), 'close');
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, [Symbol.asyncDispose]: close };
}
