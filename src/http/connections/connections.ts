import cluster from 'node:cluster';
import http from 'node:http';
import https from 'node:https';
import { Server as NetServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import { Logger } from '@nestjs/common';
import type { Config } from '../../config/config.js';
import type { TlsFiles } from '../../config/tls-files.js';
import { ApiError } from '../errors/api-error.js';
import { Connection, type ConnectionOwner, CUT_REASONS, type CutReason } from './connection.js';
import { CompactRequest, MANY_CHUNKS } from './node-internals.js';
import { type ConnectionLimits, OpenConnections } from './open-connections.js';
import { RequestTracker, TrackedResponse } from './request-tracker.js';
import { readSendQueues, type SendQueues } from './send-queues.js';
import { TlsCertificate } from './tls-certificate.js';

/** Milliseconds between two checks: of all connections, of slow readers while memory is short, and while stopping. */
const SWEEP_INTERVAL = 1000;
const RELIEF_INTERVAL = 100;
const STOP_INTERVAL = 5;

/** Milliseconds until a port counts as empty: a worker gets its connections later, from the primary. */
const ACCEPT_PAUSE = cluster.isWorker ? 100 : 20;
/** Milliseconds by which the connections that wait at the port may delay its closing. */
const ACCEPT_GRACE = 1000;

/** Milliseconds without reading until a client may be disconnected: when memory is short, and above its limit. */
const SHORT_STALL = 250;
const SHORTEST_STALL = 50;

/** Milliseconds that one small chunk of a body may take, with the time that others get meanwhile. */
const CHUNK_TIME = 0.01;

/** Milliseconds without a packet after which the operating system asks whether the client is still there. */
const KEEP_ALIVE_DELAY = 60_000;

/** All connections of one server: their limits, stalled clients, and the end of each request (docs/connections.md). */
export class Connections implements ConnectionOwner {
  readonly requests: RequestTracker;
  readonly cuts = new Map<CutReason, number>(CUT_REASONS.map((reason) => [reason, 0]));
  isClosing = false;
  readonly certificate?: TlsCertificate;
  private readonly all: OpenConnections;
  private readonly bySocket = new WeakMap<Socket, Connection>();
  private server!: http.Server;
  requestHandler!: http.RequestListener;
  private reliefAt = -Infinity;
  /** End of the pauses for small chunks of all connections, on the clock of `performance.now()`. */
  private pausedUntil = 0;
  private accepted = 0;

  /** @param tls the files of the certificate; with both of them, the server uses TLS */
  constructor(
    private readonly limits: ConnectionLimits,
    { certFile, keyFile }: Partial<Config['tls']> = {},
  ) {
    if (certFile !== undefined && keyFile !== undefined) this.certificate = new TlsCertificate(certFile, keyFile);
    this.requests = new RequestTracker(limits.bufferedBytes);
    this.all = new OpenConnections(limits);
  }

  /** Fastify's option `serverFactory`: makes the server whose connections are tracked here. */
  readonly serverFactory = (handler: http.RequestListener): http.Server => {
    this.requestHandler = handler;
    // Node 24 passes only WebSockets to `upgrade`. Older versions pass every request with `Upgrade` to a listener.
    const shouldUpgradeCallback = ({ headers }: http.IncomingMessage): boolean =>
      server.listenerCount('upgrade') > 0 && headers.upgrade?.toLowerCase() === 'websocket';
    const server = this.createServer(Object.assign(serverOptions(this.limits), { shouldUpgradeCallback }));
    this.server = server;
    byServer.set(server, this);
    // Node would drop fields above its limit without an error; `protocolError` rejects the request.
    server.maxHeadersCount = 0;
    // A client that has closed its side still reads. Node would drop the responses that wait.
    Object.assign(server, { httpAllowHalfOpen: true });
    server.on('connection', (socket) => this.accept(socket));
    // A socket that `acceptSecure` has destroyed has no connection, but Node may still parse its request.
    const receive: http.RequestListener = (request, response) =>
      this.bySocket.get(request.socket)?.receive(response as TrackedResponse);
    server.on('request', receive);
    server.on('checkExpectation', receive);
    // `100 Continue` is sent when the handler begins to read the body, after the guards.
    server.on('checkContinue', (request: http.IncomingMessage, response: http.ServerResponse) => {
      request.once('resume', () => {
        if (!response.headersSent) response.writeContinue();
      });
      receive(request, response);
    });
    server.on('connect', (request: http.IncomingMessage) => {
      const headers = { allow: 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT' };
      const message = 'This server is no proxy; CONNECT is not possible';
      this.bySocket.get(request.socket)?.reject(new ApiError(405, 'METHOD_NOT_ALLOWED', message, { headers }), request);
    });
    // A server that never listens, as with `app.inject()`, never closes, and its timer would keep the application.
    server.on('listening', () => {
      const sweep = setInterval(() => this.sweep(), SWEEP_INTERVAL).unref();
      server.once('close', () => clearInterval(sweep));
    });
    return server;
  };

  /** Fastify's option `clientErrorHandler`: handles errors of Node's parser and overdue requests. */
  readonly clientErrorHandler = (error: Error & { code?: string }, socket: Socket): void => {
    // A client that has disconnected, or has never sent anything, gets no response.
    const connection = this.bySocket.get(socket);
    // A client whose handshake failed has no connection yet.
    const hasGone = error.code === 'ECONNRESET' || socket.bytesRead === 0;
    if (hasGone || connection === undefined) socket.destroy();
    else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') connection.expire(error, this.limits.requestTimeout);
    else connection.reject(error);
  };

  get open(): number {
    return this.all.size;
  }

  /** Marks the connection of a handshake as a WebSocket. @returns false if another request is in progress on it */
  upgrade(request: http.IncomingMessage, id: string): boolean {
    const connection = this.bySocket.get(request.socket);
    if (connection?.upgrade() !== true) return false;
    this.requests.recordRaw(101, id, 'GET', connection.address);
    return true;
  }

  /** Accepts the connections that wait at the port, then no more; the open ones stay open. */
  async closePort(): Promise<void> {
    if (!this.server.listening) return;
    // A client whose connection ends makes another one, which may wait at the port when it closes.
    this.isClosing = false;
    // Node accepts one connection in each turn of its loop, and the system resets those that wait when the port closes.
    const end = performance.now() + ACCEPT_GRACE;
    for (let seen = -1; seen !== this.accepted && performance.now() < end;) {
      seen = this.accepted;
      await sleep(ACCEPT_PAUSE);
    }
    // `close` of http.Server would close idle connections immediately, and lose requests in transit.
    NetServer.prototype.close.call(this.server);
  }

  /** Closes the port, then idle connections after `idleGrace` milliseconds, and all others after `timeout`. */
  async finish(timeout: number, idleGrace = 0): Promise<void> {
    await this.closePort();
    this.isClosing = true;
    const began = performance.now();
    while (this.open > 0) {
      const elapsed = performance.now() - began;
      if (elapsed >= Math.min(idleGrace, timeout)) this.closeIdle();
      if (elapsed >= timeout && this.open > 0) {
        new Logger('Service').warn(`Requests were cut off after ${timeout} ms`);
        for (const { socket } of this.all) socket.destroy();
      }
      await sleep(STOP_INTERVAL);
    }
    // The log needs a line for each request, also for one whose handler still runs.
    this.requests.endLateOrphans(Infinity);
  }

  /** Sets how many bytes of a streamed response are buffered now. */
  countBuffered(response: TrackedResponse, bytes: number): void {
    this.requests.countBuffered(response, bytes);
    this.freeMemory();
  }

  /** Disconnects the most stalled clients as memory fills up. Returns whether a large response may be sent. */
  freeMemory(): boolean {
    const { bufferedBytes: bytes, bufferLimit: limit, isBufferExceeded: isExceeded } = this.requests;
    if (bytes <= limit / 3) return true;
    const now = performance.now();
    if (!isExceeded && now - this.reliefAt < RELIEF_INTERVAL) return true;
    this.reliefAt = now;
    const stall = isExceeded ? SHORTEST_STALL : SHORT_STALL;
    // Computed even if memory suffices: a stall is measured from one check to the next.
    const stalled = [...this.all]
      .filter((connection) => connection.bufferedBytes > 0)
      .filter((connection) => connection.flow.stalledFor(now) > stall)
      .sort((a, b) => b.flow.stalledFor(now) - a.flow.stalledFor(now));
    if (bytes <= (limit * 2) / 3) return true;
    let excess = bytes - limit / 3;
    for (const connection of stalled) {
      if (excess <= 0) break;
      excess -= connection.bufferedBytes;
      connection.cut('overload');
    }
    return excess <= (limit * 2) / 3;
  }

  pauseForChunks(): number {
    const now = performance.now();
    this.pausedUntil = Math.max(this.pausedUntil, now) + MANY_CHUNKS * CHUNK_TIME;
    return this.pausedUntil - now;
  }

  /** Closes idle connections. Node ignores WebSockets, and connections before the first byte or in a handshake. */
  private closeIdle(): void {
    // Node would cut off a response that waits in memory.
    if (![...this.all].some(({ isSending }) => isSending)) this.server.closeIdleConnections();
    for (const { socket, isWebSocket } of this.all) {
      const isHandshake = this.certificate !== undefined && !(socket instanceof TLSSocket);
      if (socket.bytesRead === 0 || isWebSocket || isHandshake) socket.destroy();
    }
  }

  private createServer(options: http.ServerOptions): http.Server {
    const { certificate } = this;
    if (certificate === undefined) return http.createServer(options);
    const { requestTimeout: handshakeTimeout } = this.limits;
    const server = https.createServer({
      ...options,
      ...secureContext(certificate.current),
      // By default Node ends the handshake of a client that offers only HTTP/1.0, as `curl --http1.0` does.
      ALPNProtocols: ['http/1.1', 'http/1.0'],
      handshakeTimeout,
    });
    const unwatch = certificate.watch((files) => server.setSecureContext(secureContext(files)));
    server.on('close', unwatch);
    server.on('secureConnection', (socket) => this.acceptSecure(socket));
    return server;
  }

  /** Replaces the connection of a finished TLS handshake by that of its decrypted data. Handshakes have limits, too. */
  private acceptSecure(socket: TLSSocket): void {
    const { remotePort, remoteAddress, localAddress } = socket;
    // A client may use one port for connections to several addresses of this machine.
    const isBelow = ({ socket: wire, hasClosed }: Connection): boolean =>
      !hasClosed &&
      wire.remotePort === remotePort &&
      wire.remoteAddress === remoteAddress &&
      wire.localAddress === localAddress;
    // A socket that its client has reset has no address.
    const handshake = remotePort === undefined ? undefined : [...this.all].find(isBelow);
    if (handshake === undefined) return void socket.destroy();
    this.all.delete(handshake);
    // A client may close its side after its requests. During a handshake, this must close the connection.
    socket.allowHalfOpen = true;
    // A data listener makes Node pass the bytes to its parser through the stream; a paused parser would reject them.
    socket.on('data', () => {});
    this.accept(socket, handshake.socket);
  }

  private accept(socket: Socket, wire = socket): void {
    this.accepted += 1;
    const connection = new Connection(socket, this, wire);
    this.bySocket.set(socket, connection);
    this.all.add(connection);
    socket.once('close', () => this.all.delete(connection));
  }

  private sweep(): void {
    const now = performance.now();
    const { requestTimeout, stallTimeout } = this.limits;
    let queues: SendQueues | undefined;
    const readQueues = (): SendQueues => (queues ??= readSendQueues());
    for (const connection of this.all) {
      connection.checkOverdue(now, requestTimeout);
      if (connection.flow.isStalled(stallTimeout, now, readQueues)) connection.cut('stalled');
      else if (connection.isLingering(now) || connection.hasLeftEvents) connection.socket.destroy();
    }
    this.limitMessages();
    this.requests.endLateOrphans(now);
  }

  /** Cuts the WebSockets with the most unread bytes until all together hold no more than a quarter of the budget. */
  private limitMessages(): void {
    const sockets = [...this.all].filter(({ isWebSocket }) => isWebSocket);
    sockets.sort((a, b) => b.socket.writableLength - a.socket.writableLength);
    let excess = sockets.reduce((bytes, { socket }) => bytes + socket.writableLength, -this.limits.bufferedBytes / 4);
    for (const connection of sockets) {
      if (excess <= 0) return;
      excess -= connection.socket.writableLength;
      connection.cut('overload');
    }
  }
}

const byServer = new WeakMap<http.Server, Connections>();

export const connectionsOf = (server: http.Server): Connections => byServer.get(server)!;

const secureContext = ({ cert, key }: TlsFiles) => ({ cert, key, minVersion: 'TLSv1.2' as const });

function serverOptions({ requestTimeout, keepAliveTimeout }: ConnectionLimits): http.ServerOptions {
  return {
    IncomingMessage: CompactRequest,
    ServerResponse: TrackedResponse as unknown as typeof http.ServerResponse,
    requestTimeout,
    headersTimeout: requestTimeout,
    // Node's default is 30 s.
    connectionsCheckingInterval: SWEEP_INTERVAL,
    keepAliveTimeout,
    // A client that has vanished sends no end. Nothing else would close its silent event stream or WebSocket.
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_DELAY,
    // Node's response to a missing Host is an empty 400; `protocolError` rejects it.
    requireHostHeader: false,
    // Node drops a duplicate Host, Authorization or Content-Type. Joined, the duplicates are invalid and rejected.
    joinDuplicateHeaders: true,
  };
}
