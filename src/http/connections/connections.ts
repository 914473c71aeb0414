import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ApiError } from '../errors/api-error.js';
import { BufferBudget } from './buffer-budget.js';
import { Connection, type ConnectionOwner, CUT_REASONS, type CutReason } from './connection.js';
import type { ConnectionLimits } from './connection-limits.js';
import { OpenConnections } from './open-connections.js';
import { RequestTracker } from './request-tracker.js';
import { TrackedResponse } from './tracked-response.js';

/** Milliseconds between two checks of all connections. */
const SWEEP_INTERVAL = 1000;

/** Milliseconds a client that reads may pause; one that pauses longer gives way when memory runs short, or has run out. */
const SHORT_STALL = 250;
const SHORTEST_STALL = 50;

/** Milliseconds between two looks at who reads, while memory runs short. */
const RELIEF_INTERVAL = 100;

/**
 * All connections of one server: how many there are, what they hold in memory, whether their clients read, and how each of
 * their requests ends. The one place that ends connections, and the one place from which requests are logged and measured.
 */
export class Connections implements ConnectionOwner {
  readonly budget: BufferBudget;
  readonly requests: RequestTracker;
  /** Why connections were closed by the service, and how often. */
  readonly cuts = new Map<CutReason, number>(CUT_REASONS.map((reason) => [reason, 0]));
  private readonly all: OpenConnections;
  private readonly bySocket = new WeakMap<Socket, Connection>();
  private server!: Server;
  private requestHandler!: (request: IncomingMessage, response: ServerResponse) => void;
  private reliefAt = -Infinity;

  constructor(private readonly limits: ConnectionLimits) {
    this.budget = new BufferBudget(limits.bufferedBytes);
    this.requests = new RequestTracker(this.budget);
    this.all = new OpenConnections(limits);
  }

  /** For Fastify's option of that name: a server whose connections are tracked here. */
  readonly serverFactory = (handler: (request: IncomingMessage, response: ServerResponse) => void): Server => {
    this.requestHandler = handler;
    const server = createServer(serverOptions(this.limits));
    this.server = server;
    byServer.set(server, this);
    // Fields beyond Node's own limit would be left out, a condition perhaps; `protocolError` rejects them.
    server.maxHeadersCount = 0;
    // A client that has closed its own side still reads what it asked for; Node would drop the responses that wait.
    Object.assign(server, { httpAllowHalfOpen: true });
    server.on('connection', (socket) => this.accept(socket));
    const receive = (request: IncomingMessage, response: ServerResponse): void =>
      this.bySocket.get(request.socket)!.receive(response as TrackedResponse);
    server.on('request', receive);
    server.on('checkExpectation', receive);
    // Whoever waits for 100 is told to send the body when it is about to be read: behind the guards.
    server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
      request.once('resume', () => {
        if (!response.headersSent) response.writeContinue();
      });
      receive(request, response);
    });
    server.on('connect', (request: IncomingMessage) => {
      const headers = { allow: 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT' };
      const message = 'This server is no proxy; CONNECT is not possible';
      this.bySocket.get(request.socket)!.reject(new ApiError(405, 'METHOD_NOT_ALLOWED', message, { headers }), request);
    });
    const sweep = setInterval(() => this.sweep(), SWEEP_INTERVAL);
    sweep.unref();
    server.on('close', () => clearInterval(sweep));
    return server;
  };

  /** For Fastify's option of that name: what Node's parser does not understand, or what has not arrived in time. */
  readonly clientErrorHandler = (error: Error & { code?: string }, socket: Socket): void => {
    // ECONNRESET and the like: the client is gone. Who has never sent anything asked nothing.
    if (error.code === 'ECONNRESET' || !socket.writable || socket.bytesRead === 0) socket.destroy();
    else this.bySocket.get(socket)!.reject(error);
  };

  get open(): number {
    return this.all.size;
  }

  /** Closes connections between two requests, and those that have not sent anything yet: to Node, these are not idle. */
  closeIdle(): void {
    this.server.closeIdleConnections();
    for (const { socket } of this.all) if (socket.bytesRead === 0) socket.destroy();
  }

  closeAll(): void {
    for (const { socket } of this.all) socket.destroy();
  }

  /**
   * Makes room before the budget is exceeded: the client that has read nothing for the longest time is cut off first.
   * @returns whether there is room
   */
  relieve(): boolean {
    if (this.budget.isComfortable) return true;
    const now = performance.now();
    const { isExceeded } = this.budget;
    if (!isExceeded && now - this.reliefAt < RELIEF_INTERVAL) return true;
    this.reliefAt = now;
    const stall = isExceeded ? SHORTEST_STALL : SHORT_STALL;
    let excess = this.budget.bytes - this.budget.limit / 3;
    // Looked at before it is needed: a stall counts from the look at which nothing more had been sent.
    const stalled = [...this.all]
      .filter((connection) => connection.bufferedBytes > 0)
      .filter((connection) => connection.stalledFor(now) > stall || (isExceeded && connection.hasTooManyWaiting))
      .sort((a, b) => b.stalledFor(now) - a.stalledFor(now));
    if (this.budget.isSufficient) return true;
    for (const connection of stalled) {
      if (excess <= 0) break;
      excess -= connection.bufferedBytes;
      connection.cut('overload');
    }
    return excess <= (this.budget.limit * 2) / 3;
  }

  handle(response: TrackedResponse): void {
    this.requestHandler(response.req, response);
  }

  countCut(reason: CutReason): void {
    this.cuts.set(reason, (this.cuts.get(reason) ?? 0) + 1);
  }

  closed(connection: Connection): void {
    this.all.delete(connection);
  }

  private accept(socket: Socket): void {
    const connection = new Connection(socket, this);
    this.bySocket.set(socket, connection);
    this.all.add(connection);
  }

  private sweep(): void {
    const now = performance.now();
    for (const connection of this.all) {
      if (connection.stalledFor(now) > this.limits.stallTimeout) connection.cut('stalled');
      else if (connection.isLingering(now)) connection.socket.destroy();
    }
    this.requests.endLateOrphans(now);
  }
}

const byServer = new WeakMap<Server, Connections>();

/** The connections of a server that `serverFactory` has made. */
export function connectionsOf(server: Server): Connections {
  return byServer.get(server)!;
}

function serverOptions({ requestTimeout, keepAliveTimeout }: ConnectionLimits): ServerOptions {
  return {
    // With Node's own class, the response would know nothing of its connection.
    ServerResponse: TrackedResponse as unknown as typeof ServerResponse,
    requestTimeout,
    headersTimeout: requestTimeout,
    // Node looks for requests past their time-out every 30 s otherwise.
    connectionsCheckingInterval: SWEEP_INTERVAL,
    keepAliveTimeout,
    // Node would respond to a missing Host header with an empty 400. Of a field that comes twice Node would drop one; joined, a
    // second Host, Authorization or Content-Type is as wrong as it is.
    requireHostHeader: false,
    joinDuplicateHeaders: true,
  };
}
