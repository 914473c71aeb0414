import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** A proxy between the service and its server that breaks connections, as a firewall or balancer may. */
export class TcpProxy {
  private readonly pairs = new Set<Pair>();
  /** Bytes of the request whose response is to be lost. */
  private lost?: string;
  /** The response to send instead. Without it, the connection is reset. */
  private farewell?: Buffer;
  /** Bytes of the request that is to be lost. */
  private swallowed?: string;
  private failing?: 'reset' | 'silent';
  /** Number of requests with the bytes of `loseResponseTo` or `loseRequest`. */
  seen = 0;

  private constructor(
    private readonly server: Server,
    private readonly target: string,
  ) {}

  /** @param target a URL with the host and port to connect to */
  static async start(target: string): Promise<TcpProxy> {
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    const proxy = new TcpProxy(server, target);
    server.on('connection', (socket) => proxy.accept(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as { port: number }).port;
  }

  /** The URL of the target, through the proxy. */
  get url(): string {
    const url = new URL(this.target);
    url.port = String(this.port);
    return url.href;
  }

  /** Breaks every open connection at its next use. New connections work. */
  breakAtNextUse(): void {
    for (const pair of this.pairs) pair.isBroken = pair.readies > 1;
  }

  /**
   * From now on, requests with these bytes reach the server, and their responses are lost. A farewell replaces the
   * response.
   */
  loseResponseTo(bytes: string | undefined, farewell?: Buffer): void {
    this.lost = bytes;
    this.farewell = farewell;
    this.seen = 0;
  }

  /** From now on, requests with these bytes are lost, and their connections stay open. */
  loseRequest(bytes: string | undefined): void {
    this.swallowed = bytes;
    this.seen = 0;
  }

  /** Passes nothing on in the open connections, as a firewall that has forgotten them. New connections work. */
  silenceConnections(): void {
    for (const pair of this.pairs) pair.isSilent = true;
  }

  /** From now on, new connections are reset, or nothing is passed on in them. Open connections work. */
  failNewConnections(how: 'reset' | 'silent' | undefined): void {
    this.failing = how;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { client, server } of this.pairs) [client, server].forEach((socket) => socket.destroy());
    this.server.close();
    await once(this.server, 'close');
  }

  private accept(client: Socket): void {
    if (this.failing === 'reset') return void client.resetAndDestroy();
    const { hostname, port } = new URL(this.target);
    const server = connect({ host: hostname, port: Number(port), noDelay: true });
    const pair = new Pair(client, server, this.failing === 'silent');
    this.pairs.add(pair);
    const end = (): void => {
      this.pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      socket.on('error', () => undefined);
      socket.on('close', end);
    }
    client.on('end', () => void (pair.isSilent || client.end()));
    client.on('data', (bytes) => {
      if (pair.isSilent) return;
      if (pair.isBroken) return void client.resetAndDestroy();
      if (this.swallowed !== undefined && bytes.includes(this.swallowed)) {
        this.seen++;
        return;
      }
      if (this.lost !== undefined && bytes.includes(this.lost)) {
        this.seen++;
        pair.isResponseLost = true;
      }
      server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (bytes.includes(READY)) pair.readies++;
      if (pair.isSilent) return;
      // The server has responded, so the request was executed.
      if (!pair.isResponseLost) client.write(bytes);
      else if (this.farewell === undefined) client.resetAndDestroy();
      else client.end(this.farewell);
    });
  }
}

/** ReadyForQuery outside a transaction (https://www.postgresql.org/docs/current/protocol-message-formats.html). */
const READY = Buffer.from('Z\0\0\0\x05I', 'latin1');

class Pair {
  /** How often the server was ready: after the start of the session, after its formats are set, and so on. */
  readies = 0;
  isBroken = false;
  isResponseLost = false;

  constructor(
    readonly client: Socket,
    readonly server: Socket,
    public isSilent: boolean,
  ) {}
}
