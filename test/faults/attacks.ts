import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../../src/config/config.js';
import type { Bounds } from './hostile-bounds.js';

/** A client of an attack. Each is slow, so that the machine is not overloaded. */
export interface Attacker {
  readonly index: number;
  readonly port: number;
  /** A token with both scopes, of a subject that no good client has. */
  readonly bearer: string;
  /** The local address of its connections. */
  readonly address: string;
  /** Aborts at the end of the attack. */
  readonly signal: AbortSignal;
  /** Counts sent connections and requests. */
  count(what: 'connections' | 'requests', times?: number): void;
}

export interface Attack {
  readonly name: string;
  readonly records?: number;
  /** Beginning of the wishes of these records. */
  readonly wish?: string;
  /** Whether no process reads the service's log during the attack. */
  readonly stallsLog?: boolean;
  /** Path of the long list that the good client reads every second. */
  readonly othersList?: string;
  /** Number of attackers; default: `ATTACKERS`. */
  readonly attackers?: number;
  /** Addresses of the attackers, in turn; default: one address. With several, every attacker has its own subject. */
  readonly addresses?: readonly string[];
  readonly environment?: Environment;
  readonly bounds?: Bounds;
  readonly run: (attacker: Attacker) => Promise<void>;
}

const request = (method: string, target: string, fields: readonly string[] = []): string =>
  `${method} ${target} HTTP/1.1\r\nHost: cookies\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`;

const withToken = ({ bearer }: Attacker): string => `Authorization: Bearer ${bearer}`;

async function opened(attacker: Attacker): Promise<Socket> {
  const socket = connect({ port: attacker.port, host: '127.0.0.1', localAddress: attacker.address, noDelay: true });
  // The service may disconnect or reject it.
  socket.on('error', () => {});
  attacker.count('connections');
  await Promise.race([once(socket, 'connect').catch(() => {}), sleep(2000)]);
  return socket;
}

/** Repeats an action with this interval until the end of the attack. */
async function every(milliseconds: number, { signal }: Attacker, act: () => Promise<void> | void): Promise<void> {
  while (!signal.aborted) {
    await act();
    await sleep(milliseconds);
  }
}

/** Sends requests without reading, and reconnects after a disconnect. */
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

/**
 * Opens many connections of one attacker with the same behaviour, and reopens closed ones.
 * @param pace connections to open in a second
 */
function several(
  connections: number,
  open: (attacker: Attacker) => Promise<Socket>,
  use?: (socket: Socket) => void,
  pace = 20,
) {
  return async (attacker: Attacker): Promise<void> => {
    const sockets = new Set<Socket>();
    await every(1000, attacker, async () => {
      for (const socket of sockets) if (socket.destroyed) sockets.delete(socket);
      for (const socket of sockets) use?.(socket);
      for (let opening = 0; opening < pace && sockets.size < connections && !attacker.signal.aborted; opening++) {
        sockets.add(await open(attacker));
      }
    });
    for (const socket of sockets) socket.destroy();
  };
}

/** Opens a connection that sends these bytes. It does not read unless `resume` is called. */
function sender(bytes: (attacker: Attacker) => string): (attacker: Attacker) => Promise<Socket> {
  return async (attacker) => {
    const socket = await opened(attacker);
    socket.pause();
    socket.write(bytes(attacker));
    attacker.count('requests');
    return socket;
  };
}

/** Sends one request. Every other attacker reads a piece each second, the others nothing. */
function reader(target: string): (attacker: Attacker) => Promise<Socket> {
  const open = sender((attacker) => request('GET', target, [withToken(attacker)]));
  return async (attacker) => {
    const socket = await open(attacker);
    return attacker.index % 2 === 1 ? slowly(socket, 1000) : socket;
  };
}

/** Reads a piece of what has come after each interval. */
function slowly(socket: Socket, interval: number): Socket {
  const timer = setInterval(() => socket.resume(), interval);
  socket.on('data', () => socket.pause());
  return socket.once('close', () => clearInterval(timer));
}

/** Sends one request, and always reads a little before the service would count it as paused. */
async function tricklingReader(attacker: Attacker): Promise<Socket> {
  const open = sender((each) => request('GET', '/cookies', [withToken(each), 'Connection: close']));
  return slowly(await open(attacker), 100);
}

/**
 * Reads a whole list as any client does, and leaves its connection open. Every other attacker reads a cached list. They
 * read one after the other, so that reading is no load.
 */
async function idleReader(attacker: Attacker): Promise<Socket> {
  await sleep(100 * attacker.index);
  const target = attacker.index % 2 === 0 ? '/cookies' : `/cookies?after=${attacker.index}`;
  const socket = await opened(attacker);
  for (let status = ''; status !== '200' && !attacker.signal.aborted && !socket.destroyed; await sleep(200)) {
    socket.write(request('GET', target, [withToken(attacker)]));
    attacker.count('requests');
    status = '';
    let end = '';
    const readAll = (chunk: Buffer): void => {
      status ||= chunk.toString('latin1', 9, 12);
      end = (end + chunk.toString('latin1', Math.max(0, chunk.length - 7))).slice(-7);
      if (status !== '200' || end === '\r\n0\r\n\r\n') socket.emit('whole');
    };
    socket.on('data', readAll);
    await once(socket, 'whole', { signal: attacker.signal }).catch(() => {});
    socket.off('data', readAll).resume();
  }
  return socket;
}

/** Sends the first part of a request, and then a byte a second. */
function trickle(beginning: (attacker: Attacker) => string): Attack['run'] {
  const open = sender(beginning);
  return several(
    10,
    async (attacker) => (await open(attacker)).resume(),
    (socket) => socket.write('a'),
  );
}

/** Sends bytes over a new connection and resets it some milliseconds later. */
function reset(milliseconds: number, bytes: (attacker: Attacker, time: number) => string, interval: number) {
  return async (attacker: Attacker): Promise<void> => {
    let time = 0;
    await every(interval, attacker, async () => {
      const socket = await sender((each) => bytes(each, time))(attacker);
      await sleep((milliseconds * (1 + (time % 4))) / 4);
      socket.resetAndDestroy();
      time += 1;
    });
  };
}

/** Sends the header section of a POST and nothing else. */
async function headAlone(attacker: Attacker): Promise<Socket> {
  const fields = ['Content-Type: application/json', 'Content-Length: 60', `X-Forwarded-For: 192.0.2.${attacker.index}`];
  return (await sender(() => request('POST', '/cookies', fields))(attacker)).resume();
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
  // The good client makes too little garbage for a full collection afterwards: the heap itself is as small as before.
  { name: 'unread-documents', bounds: { mostGrowth: 1.5 }, run: unread(() => DOCUMENT, 50, 2000) },
  {
    name: 'lists-unread',
    records: 100_000,
    // The service makes its first long lists during the attack: 28 MB, however many records it has.
    bounds: { mostGrowth: 1.35 },
    run: several(3, reader('/cookies')),
  },
  {
    name: 'pages-unread',
    records: 10_000,
    // A page of about a megabyte. A shorter page would fit into the buffers of the operating system.
    wish: '🍪'.repeat(240),
    // A thousand pages are made in the first three seconds, with half of the event loop. Meanwhile others wait up to 80
    // ms. Their memory is that of the first long lists.
    bounds: { mostSlowdown: 12, mostGrowth: 1.35 },
    run: several(20, reader('/cookies?limit=1000')),
  },
  { name: 'lists-of-one-subject', records: 100_000, othersList: '/cookies', run: several(1, reader('/cookies')) },
  {
    name: 'idle-after-lists',
    records: 10_000,
    wish: '🍪'.repeat(180),
    // The service makes long lists before its memory is measured. The cache of lists, which has 32 MB, fills during the
    // attack and stays.
    othersList: '/cookies',
    attackers: 200,
    bounds: { mostHeld: 50 + 32, mostGrowth: 1.4 },
    run: several(1, idleReader),
  },
  {
    name: 'lists-trickled-from-two-addresses',
    records: 40_000,
    wish: '🍪'.repeat(180),
    othersList: '/cookies?after=35000',
    attackers: 90,
    addresses: ['127.0.0.3', '127.0.0.4'],
    // Ninety long lists are made on the same processors, and the cache of lists fills.
    bounds: { mostSlowdown: 20, mostGrowth: 2 },
    run: several(1, tricklingReader),
  },
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
  ...[
    { name: 'heads-from-five-addresses', addresses: [3, 4, 5, 6, 7].map((last) => `127.0.0.${last}`) },
    { name: 'heads-from-a-proxy', environment: { TRUST_PROXY: '127.0.0.1' } },
  ].map((from) => ({
    ...from,
    attackers: 50,
    bounds: { fewestAnswered: 98 },
    run: several(84, headAlone, undefined, 8),
  })),
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
