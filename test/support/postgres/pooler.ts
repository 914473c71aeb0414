import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import pg from 'pg';

/** Startup parameters that PgBouncer accepts (https://www.pgbouncer.org/config.html#ignore_startup_parameters). */
const STARTUP_PARAMETERS = ['user', 'database', 'application_name', 'client_encoding'];

const SSL_REQUEST = 80877103;

/** A session on the server that all clients share. */
interface Session {
  readonly socket: Socket;
  client?: PooledClient;
}

/**
 * A substitute for PgBouncer in transaction mode, which has no npm package. After each transaction the session of a
 * client goes to a waiting client; the first client gets another session for its next transaction.
 */
export class Pooler {
  /** Actions of clients that PgBouncer would reject, or whose effect the next transaction would miss. */
  readonly faults: string[] = [];
  private readonly free: Session[] = [];
  private readonly sessions: pg.Client[] = [];
  private readonly waiting: ((session: Session) => void)[] = [];
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly target: string,
  ) {}

  /** @param target the URL of the database for all clients */
  static async start(target: string, sessions: number): Promise<Pooler> {
    const server = createServer({ noDelay: true });
    const pooler = new Pooler(server, target);
    server.on('connection', (socket) => new PooledClient(socket, pooler));
    for (let index = 0; index < sessions; index++) await pooler.addSession();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return pooler;
  }

  get url(): string {
    const url = new URL(this.target);
    url.port = String((this.server.address() as { port: number }).port);
    return url.href;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    for (const session of this.sessions) {
      const { stream } = (session as unknown as { connection: { stream: Socket } }).connection;
      stream.destroy();
      await once(stream, 'close');
    }
  }

  watch(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => this.sockets.delete(socket));
  }

  take(): Promise<Session> {
    const session = this.free.shift();
    return session ? Promise.resolve(session) : new Promise((resolve) => this.waiting.push(resolve));
  }

  giveBack(session: Session): void {
    session.client = undefined;
    const next = this.waiting.shift();
    if (next) next(session);
    else this.free.push(session);
  }

  private async addSession(): Promise<void> {
    const client = new pg.Client({ connectionString: this.target });
    client.on('error', () => undefined);
    await client.connect();
    this.sessions.push(client);
    // After this point only bytes are passed.
    const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
    stream.removeAllListeners('data');
    const session: Session = { socket: stream };
    const messages = new Messages();
    stream.on('data', (chunk: Buffer) => messages.of(chunk).forEach((message) => session.client?.answer(message)));
    this.free.push(session);
  }
}

class PooledClient {
  private readonly messages = new Messages();
  private started = false;
  private session?: Session;
  private taking?: Promise<void>;
  /** Responses that must arrive before another client may have the session. */
  private expected = 0;

  constructor(
    private readonly socket: Socket,
    private readonly pooler: Pooler,
  ) {
    pooler.watch(socket);
    socket.on('data', (chunk: Buffer) => {
      for (const message of this.messages.of(chunk, !this.started)) this.receive(message);
    });
    // PgBouncer would close the session of a client that disconnects within a transaction. Here it is rolled back.
    socket.once('close', () => {
      if (this.session === undefined) return;
      this.expected++;
      this.session.socket.write(message('Q', Buffer.from('ROLLBACK\0')));
    });
  }

  /** Handles a message of the server. */
  answer(bytes: Buffer): void {
    this.socket.write(bytes);
    if (bytes[0] !== 'Z'.charCodeAt(0)) return;
    this.expected--;
    const idle = bytes[5] === 'I'.charCodeAt(0);
    if (this.expected > 0 || !idle) return;
    const session = this.session!;
    this.session = undefined;
    this.pooler.giveBack(session);
  }

  private receive(bytes: Buffer): void {
    if (!this.started) return this.start(bytes);
    const type = String.fromCharCode(bytes[0]!);
    if (type === 'X') return void this.socket.end();
    if (type === 'P' && bytes[5] !== 0) this.pooler.faults.push('a named prepared statement');
    if (type === 'Q' || type === 'S') this.expected++;
    if (this.session !== undefined) this.session.socket.write(bytes);
    else this.taking = (this.taking ?? this.attach()).then(() => void this.session?.socket.write(bytes));
  }

  private async attach(): Promise<void> {
    const session = await this.pooler.take();
    this.taking = undefined;
    if (this.socket.destroyed) return this.pooler.giveBack(session);
    session.client = this;
    this.session = session;
  }

  private start(bytes: Buffer): void {
    if (bytes.readInt32BE(4) === SSL_REQUEST) return void this.socket.write('N');
    const words = bytes.subarray(8).toString().split('\0');
    const names = words.filter((word, index) => index % 2 === 0 && word !== '');
    this.pooler.faults.push(...names.filter((name) => !STARTUP_PARAMETERS.includes(name)));
    this.started = true;
    const ok = message('R', Buffer.from([0, 0, 0, 0]));
    const version = message('S', Buffer.from('server_version\0' + '17.0\0'));
    this.socket.write(Buffer.concat([ok, version, message('K', Buffer.alloc(8)), message('Z', Buffer.from('I'))]));
  }
}

/** Splits a stream of bytes into messages of PostgreSQL's protocol. */
class Messages {
  private rest = Buffer.alloc(0);

  /** @param untyped whether the messages begin with their length, as before the start */
  of(chunk: Buffer, untyped = false): Buffer[] {
    this.rest = Buffer.concat([this.rest, chunk]);
    const found: Buffer[] = [];
    const head = untyped ? 0 : 1;
    while (this.rest.length >= head + 4) {
      const end = head + this.rest.readInt32BE(head);
      if (this.rest.length < end) break;
      found.push(this.rest.subarray(0, end));
      this.rest = this.rest.subarray(end);
    }
    return found;
  }
}

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
