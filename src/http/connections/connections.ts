import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { BlockList, isIPv6, type Socket } from 'node:net';
import { ApiError } from '../errors/api-error.js';
import { protocolErrorResponse } from '../errors/error-response.js';
import { BufferBudget } from './buffer-budget.js';
import { Connection } from './connection.js';
import { type RequestEnd, type RequestListener, recordOf } from './request-record.js';
import { TrackedResponse } from './tracked-response.js';

export interface ConnectionLimits {
  /** Connections open at once. */
  readonly connections: number;
  /** Connections open at once from one address; an IPv6 client has all addresses of its /64 network. */
  readonly connectionsPerAddress: number;
  /** Proxies, whose connections are those of many clients: they have no limit for each address. */
  readonly proxies?: BlockList;
  /** Bytes that unsent responses and waiting requests may take together. */
  readonly bufferedBytes: number;
  /** Milliseconds in which a client must take something of a response. */
  readonly stallTimeout: number;
  /** Milliseconds in which a request must arrive whole. */
  readonly requestTimeout: number;
  /** Milliseconds a connection may stay open between two requests. */
  readonly keepAliveTimeout: number;
}

/** Why the service closes a connection on its client. */
const CUT_REASONS = ['stalled', 'overload', 'too many connections'] as const;
export type CutReason = (typeof CUT_REASONS)[number];

/** Milliseconds between two looks at all connections. */
const SWEEP_INTERVAL = 1000;

/** Milliseconds a client that reads may pause; one that pauses longer gives way when memory runs short, or has run out. */
const SHORT_STALL = 250;
const SHORTEST_STALL = 50;

/** Milliseconds between two looks at who reads, while memory runs short. */
const RELIEF_INTERVAL = 100;

/** Milliseconds for which a handler may go on after its client has left, until its request is recorded without a status. */
const ORPHAN_TIMEOUT = 60_000;

/**
 * All connections of one server: how many there are, what they hold in memory, whether their clients read, and how each of
 * their requests ends. The one place that ends connections, and the one place from which requests are logged and measured.
 */
export class Connections {
  readonly budget: BufferBudget;
  /** Why connections were closed by the service, and how often. */
  readonly cuts = new Map<CutReason, number>(CUT_REASONS.map((reason) => [reason, 0]));
  private readonly all = new Set<Connection>();
  private readonly byAddress = new Map<string, Set<Connection>>();
  private readonly bySocket = new WeakMap<Socket, Connection>();
  private readonly listeners: RequestListener[] = [];
  /** Requests whose client has left while their handler was at work. */
  private readonly orphans = new Set<TrackedResponse>();
  private server!: Server;
  private requestHandler!: (request: IncomingMessage, response: ServerResponse) => void;
  private requestsInFlight = 0;
  private reliefAt = -Infinity;

  constructor(private readonly limits: ConnectionLimits) {
    this.budget = new BufferBudget(limits.bufferedBytes);
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

  /** Adds who is told of every request when it ends, exactly once. */
  onRequestEnd(listener: RequestListener): void {
    this.listeners.push(listener);
  }

  /** Requests that have been handed on and not ended. */
  get inFlight(): number {
    return this.requestsInFlight;
  }

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

  // What follows is for `Connection` and the hooks of this folder.

  handle(response: TrackedResponse): void {
    this.requestHandler(response.req, response);
  }

  /** Notes how many bytes of a response wait in memory now. */
  countBuffered(response: TrackedResponse, bytes: number): void {
    // A list may have read its next chunk while its client left: nobody would give these bytes back.
    if (response.isRecorded) return;
    this.budget.add(bytes - response.bufferedBytes);
    response.bufferedBytes = bytes;
  }

  requestStarted(): void {
    this.requestsInFlight += 1;
  }

  /** Logs and measures a request; what is told of it a second time is ignored. */
  requestEnded(response: TrackedResponse, end: RequestEnd): void {
    if (response.isRecorded) return;
    this.countBuffered(response, 0);
    response.isRecorded = true;
    if (end !== 'dropped') this.requestsInFlight -= 1;
    const record = recordOf(response);
    for (const listener of this.listeners) listener(record, end);
  }

  /** The connection has closed before the response was sent. A handler that is still at work is waited for: its status counts. */
  requestCutOff(response: TrackedResponse): void {
    if (response.reply === undefined || response.isAnswered) this.requestEnded(response, 'cut off');
    else this.orphans.add(response);
  }

  /** The handler of a request whose client has left is done. */
  orphanEnded(response: TrackedResponse): void {
    this.orphans.delete(response);
    this.requestEnded(response, 'cut off');
  }

  /** Logs and measures what was answered without having been a request to Node. */
  recordRaw(error: Error, id: string, method = 'unknown', address?: string): void {
    const { status } = protocolErrorResponse(error, id);
    const record = { requestId: id, method, route: 'unknown', status, milliseconds: 0, address };
    for (const listener of this.listeners) listener(record, 'sent');
  }

  countCut(reason: CutReason): void {
    this.cuts.set(reason, (this.cuts.get(reason) ?? 0) + 1);
  }

  closed(connection: Connection): void {
    this.all.delete(connection);
    const key = addressKey(connection.address);
    const siblings = this.byAddress.get(key);
    siblings?.delete(connection);
    if (siblings?.size === 0) this.byAddress.delete(key);
  }

  private accept(socket: Socket): void {
    const connection = new Connection(socket, this);
    const key = addressKey(connection.address);
    const siblings = this.byAddress.get(key) ?? new Set();
    this.byAddress.set(key, siblings);
    this.bySocket.set(socket, connection);
    this.all.add(connection);
    siblings.add(connection);
    const { connections, connectionsPerAddress } = this.limits;
    if (siblings.size > connectionsPerAddress && !this.isProxy(connection.address)) this.makeRoom(siblings, connection);
    else if (this.all.size > connections) this.makeRoom(this.all, connection);
  }

  /**
   * One connection too many: the oldest that has never sent a whole request gives way, else the oldest that waits for the next
   * one, else the newcomer.
   */
  private makeRoom(candidates: Set<Connection>, newcomer: Connection): void {
    let idle: Connection | undefined;
    for (const connection of candidates) {
      if (connection === newcomer || !connection.isIdle || connection.socket.destroyed) continue;
      idle ??= connection;
      if (connection.hasServed) continue;
      idle = connection;
      break;
    }
    (idle ?? newcomer).cut('too many connections');
  }

  private isProxy(address: string | undefined): boolean {
    const { proxies } = this.limits;
    return proxies !== undefined && address !== undefined && proxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  }

  private sweep(): void {
    const now = performance.now();
    for (const connection of this.all) {
      if (connection.stalledFor(now) > this.limits.stallTimeout) connection.cut('stalled');
      else if (connection.isLingering(now)) connection.socket.destroy();
    }
    for (const response of this.orphans) {
      if (now - response.startedAt > ORPHAN_TIMEOUT) this.orphanEnded(response);
    }
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
    // Node would answer a missing Host header with an empty 400. Of a field that comes twice Node would drop one; joined, a
    // second Host, Authorization or Content-Type is as wrong as it is.
    requireHostHeader: false,
    joinDuplicateHeaders: true,
  };
}

/** What counts as one client: an IPv4 address, or the first 64 bits of an IPv6 address, of which everyone has as many as they like. */
function addressKey(address = ''): string {
  if (!isIPv6(address)) return address;
  if (address.startsWith('::ffff:')) return address.slice('::ffff:'.length);
  const [head = '', tail] = address.split('::');
  const groups = head.split(':');
  const missing = tail === undefined ? 0 : 8 - groups.length - tail.split(':').length;
  return [...groups, ...Array<string>(Math.max(missing, 0)).fill('0'), ...(tail ?? '').split(':')]
    .slice(0, 4)
    .join(':');
}
