import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** One of the clients of an attack. Each is slow enough that it is not the machine that is overloaded. */
export interface Attacker {
  readonly index: number;
  readonly port: number;
  /** Bears both scopes; of a subject that no other client has. */
  readonly bearer: string;
  /** Aborts when the attack is over. */
  readonly signal: AbortSignal;
  /** Counts what was sent. */
  count(what: 'connections' | 'requests', times?: number): void;
}

export interface Attack {
  readonly name: string;
  /** Records that are stored before it begins. */
  readonly records?: number;
  /** What their wishes begin with. */
  readonly wish?: string;
  /** Whether nobody reads the service's log meanwhile. */
  readonly stallsLog?: boolean;
  /** Whether other clients read the whole list meanwhile. */
  readonly othersList?: boolean;
  readonly run: (attacker: Attacker) => Promise<void>;
}

const request = (method: string, target: string, fields: readonly string[] = []): string =>
  `${method} ${target} HTTP/1.1\r\nHost: cookies\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`;

const withToken = ({ bearer }: Attacker): string => `Authorization: Bearer ${bearer}`;

async function opened(attacker: Attacker): Promise<Socket> {
  const socket = connect({ port: attacker.port, host: '127.0.0.1', noDelay: true });
  // The service may cut it off or not let it in.
  socket.on('error', () => {});
  attacker.count('connections');
  await Promise.race([once(socket, 'connect').catch(() => {}), sleep(2000)]);
  return socket;
}

/** Does something every so many milliseconds until the attack is over. */
async function every(milliseconds: number, { signal }: Attacker, act: () => Promise<void> | void): Promise<void> {
  while (!signal.aborted) {
    await act();
    await sleep(milliseconds);
  }
}

/** Sends requests and reads nothing; when it is cut off, it comes again. */
function unread(bytes: (attacker: Attacker) => string, requests: number, mostRequests: number): Attack['run'] {
  return async (attacker) => {
    let socket: Socket | undefined;
    let sent = 0;
    await every(100, attacker, async () => {
      if (socket === undefined || socket.destroyed) {
        socket = await opened(attacker);
        socket.pause();
        sent = 0;
      }
      if (sent >= mostRequests || socket.writableLength > 0) return;
      socket.write(bytes(attacker).repeat(requests));
      sent += requests;
      attacker.count('requests', requests);
    });
    socket?.destroy();
  };
}

/** Many connections of one attacker at a time, each doing the same; those that were closed are opened again. */
function several(connections: number, open: (attacker: Attacker) => Promise<Socket>, use?: (socket: Socket) => void) {
  return async (attacker: Attacker): Promise<void> => {
    const sockets = new Set<Socket>();
    await every(1000, attacker, async () => {
      for (const socket of sockets) if (socket.destroyed) sockets.delete(socket);
      for (const socket of sockets) use?.(socket);
      // Not more than twenty a second.
      for (let opening = 0; opening < 20 && sockets.size < connections && !attacker.signal.aborted; opening++) {
        sockets.add(await open(attacker));
      }
    });
    for (const socket of sockets) socket.destroy();
  };
}

/** Asks once, and reads some bytes a second or nothing at all. */
function reader(target: string): (attacker: Attacker) => Promise<Socket> {
  return async (attacker) => {
    const socket = await opened(attacker);
    socket.pause();
    socket.on('data', () => socket.pause());
    socket.write(request('GET', target, [withToken(attacker)]));
    attacker.count('requests');
    // Every other attacker lets a piece through now and then.
    if (attacker.index % 2 === 1) slowly(socket);
    return socket;
  };
}

function slowly(socket: Socket): void {
  const timer = setInterval(() => socket.resume(), 1000);
  socket.once('close', () => clearInterval(timer));
}

/** Sends the beginning of a request, and then a byte a second. */
function trickle(beginning: (attacker: Attacker) => string): Attack['run'] {
  const open = async (attacker: Attacker): Promise<Socket> => {
    const socket = await opened(attacker);
    socket.resume();
    socket.write(beginning(attacker));
    attacker.count('requests');
    return socket;
  };
  return several(10, open, (socket) => socket.write('a'));
}

/** Sends something over a connection of its own and resets it some milliseconds later. */
function reset(milliseconds: number, bytes: (attacker: Attacker, time: number) => string, interval: number) {
  return async (attacker: Attacker): Promise<void> => {
    let time = 0;
    await every(interval, attacker, async () => {
      const socket = await opened(attacker);
      socket.pause();
      socket.write(bytes(attacker, time));
      attacker.count('requests');
      await sleep((milliseconds * (1 + (time % 4))) / 4);
      socket.resetAndDestroy();
      time += 1;
    });
  };
}

const TOO_LARGE = (attacker: Attacker): string =>
  request('POST', '/cookies', [withToken(attacker), 'Content-Type: application/json', 'Content-Length: 16385']) +
  ' '.repeat(16_385);

const CONNECT = 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n';

function post(attacker: Attacker, id: string): string {
  const body = `{"flavor":"vanilla","size":"small","wish":"of ${id}"}`;
  const fields = ['Content-Type: application/json', `Content-Length: ${body.length}`, `X-Request-Id: ${id}`];
  return request('POST', '/cookies', [withToken(attacker), ...fields]) + body;
}

const DOCUMENT = request('GET', '/openapi.json');

export const ATTACKS: readonly Attack[] = [
  { name: 'unread-documents', run: unread(() => DOCUMENT, 50, 2000) },
  {
    name: 'docs-reset',
    run: reset(20, () => request('GET', '/docs/swagger-ui-bundle.js').repeat(10), 200),
  },
  { name: 'lists-unread-10k', records: 10_000, run: several(3, reader('/cookies')) },
  { name: 'lists-unread-100k', records: 100_000, run: several(3, reader('/cookies')) },
  // A page of about a megabyte; what is shorter fits into the buffers of the operating system.
  { name: 'pages-unread', records: 10_000, wish: '🍪'.repeat(240), run: several(20, reader('/cookies?limit=1000')) },
  { name: 'lists-of-one-subject', records: 100_000, othersList: true, run: several(1, reader('/cookies')) },
  {
    name: 'connect-reset',
    run: reset(6, (attacker, time) => (time % 5 === 0 ? TOO_LARGE(attacker) : '') + CONNECT, 100),
  },
  { name: 'slow-headers', run: trickle(() => 'GET /cookies HTTP/1.1\r\nHost: cookies\r\nX-Slow: ') },
  {
    name: 'slow-bodies',
    run: trickle((attacker) =>
      request('POST', '/cookies', [withToken(attacker), 'Content-Type: application/json', 'Content-Length: 16000']),
    ),
  },
  {
    name: 'idle-connections',
    run: several(40, async (attacker) => (await opened(attacker)).resume()),
  },
  {
    name: 'writes-unread-reset',
    run: reset(
      40,
      (attacker, time) => DOCUMENT.repeat(10) + post(attacker, `a${attacker.index.toString(36)}.${time}`),
      250,
    ),
  },
  {
    name: 'stalled-log',
    stallsLog: true,
    run: async (attacker) => {
      let socket: Socket | undefined;
      await every(25, attacker, async () => {
        if (socket === undefined || socket.destroyed) socket = (await opened(attacker)).resume();
        socket.write(request('GET', '/cookies', ['Authorization: Bearer a.b.c']));
        attacker.count('requests');
      });
      socket?.destroy();
    },
  },
];
