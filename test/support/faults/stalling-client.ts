import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connected } from '../raw-http.js';
import { type TokenOptions, token, type Endpoint } from '../service.js';
import { until } from '../until.js';

/** Milliseconds after which a wait for the client fails the test. */
const LONGEST_WAIT = 20_000;

/** A client with its own connection. It decides when to read, and may disconnect early. */
export class StallingClient {
  private readonly received: Buffer[] = [];
  private bytes = 0;
  /** Number of bytes at which the client stops reading. */
  private enough = Infinity;
  isClosed = false;

  private constructor(private readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => {
      this.received.push(chunk);
      this.bytes += chunk.length;
      if (this.bytes >= this.enough) socket.pause();
    });
    socket.on('close', () => (this.isClosed = true));
  }

  /** Sends GET and does not read yet. */
  static async get(
    service: Endpoint,
    { path = '/cookies', ...options }: TokenOptions & { readonly path?: string } = {},
  ): Promise<StallingClient> {
    const fields = `Host: cookies\r\nAuthorization: Bearer ${await token(options)}`;
    return StallingClient.send(service, `GET ${path} HTTP/1.1\r\n${fields}\r\nConnection: close\r\n\r\n`);
  }

  /** Sends bytes, such as several requests, and does not read yet. */
  static async send(service: Endpoint, bytes: string): Promise<StallingClient> {
    const socket = await connected(service.url);
    const client = new StallingClient(socket);
    socket.pause();
    socket.write(bytes);
    return client;
  }

  /** Reads this many bytes, and up to 64 KiB more, then stops. Reads less if the connection closes. */
  async read(bytes: number): Promise<void> {
    this.enough = this.bytes + bytes;
    this.socket.resume();
    await until(() => this.bytes >= this.enough || this.isClosed, `${bytes} bytes are read`);
    this.socket.pause();
  }

  async readAll(): Promise<void> {
    this.enough = Infinity;
    this.socket.resume();
    if (!this.isClosed) await once(this.socket, 'close', { signal: AbortSignal.timeout(LONGEST_WAIT) });
  }

  /** The status of the response; 0 if nothing has been read. */
  get status(): number {
    return Number(/^HTTP\/1\.1 (\d+)/.exec(this.text)?.[1] ?? 0);
  }

  /** Whether a chunked body is complete. */
  get isWhole(): boolean {
    return this.text.endsWith('\r\n0\r\n\r\n');
  }

  /** Disconnects without reading the rest. */
  leave(): void {
    this.socket.destroy();
  }

  /**
   * Disconnects with a reset, as a killed process may. A FIN alone means that the client sends nothing more; it may
   * still read.
   */
  reset(): void {
    this.socket.resetAndDestroy();
  }

  private get text(): string {
    return Buffer.concat(this.received).toString('latin1');
  }
}
