import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type HttpResponse, parseResponse } from './http-response.js';

/** Milliseconds in which a response must arrive. */
const PATIENCE = 30_000;

/** A client with one request at a time, which connects again when the service has closed the connection. */
export class ModelConnection {
  private socket?: Socket;
  private received: Buffer = Buffer.alloc(0);

  constructor(private readonly url: URL) {}

  /** @throws if the connection ends before the response is complete, or no response comes within 30 s */
  async send(bytes: string, head: boolean): Promise<HttpResponse> {
    const socket = await this.opened();
    socket.write(bytes, 'latin1');
    const response = await this.response(socket, head);
    if (response.headers.get('connection')?.toLowerCase() === 'close') this.close();
    return response;
  }

  close(): void {
    this.socket?.destroy();
    this.socket = undefined;
  }

  private async opened(): Promise<Socket> {
    if (this.socket !== undefined && !this.socket.destroyed && !this.socket.readableEnded) return this.socket;
    this.received = Buffer.alloc(0);
    const socket = connect({ host: this.url.hostname, port: Number(this.url.port), noDelay: true });
    socket.on('error', () => {});
    await once(socket, 'connect');
    this.socket = socket;
    return socket;
  }

  private response(socket: Socket, head: boolean): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      const settle = (error?: Error, response?: HttpResponse): void => {
        clearTimeout(timer);
        socket.removeAllListeners('data').removeAllListeners('close');
        if (response === undefined) reject(error!);
        else resolve(response);
      };
      const timer = setTimeout(() => settle(new Error(`No response within ${PATIENCE} ms`)), PATIENCE);
      socket.on('data', (chunk: Buffer) => {
        this.received = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk]);
        this.take(head, false, settle);
      });
      socket.on('close', () => this.take(head, true, settle));
    });
  }

  private take(head: boolean, ended: boolean, settle: (error?: Error, response?: HttpResponse) => void): void {
    try {
      const parsed =
        this.received.length === 0 && !ended ? undefined : parseResponse(this.received, 0, { head, ended });
      if (parsed === undefined) return;
      this.received = this.received.subarray(parsed.next);
      if (parsed.response.status >= 200) settle(undefined, parsed.response);
      else this.take(head, ended, settle);
    } catch (error) {
      settle(error as Error);
    }
  }
}
