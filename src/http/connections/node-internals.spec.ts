import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { startServer } from '../../../test/support/local-server.js';
import { announcesClose, CompactRequest, currentPacket, sentBytes, SocketFlow } from './node-internals.js';
import { inodeOf, readSendQueues } from './send-queues.js';

const onLinux = process.platform === 'linux' ? it : it.skip;

type Handled = (request: IncomingMessage, response: ServerResponse) => void;

/** Sends one request to Node's server and calls `look` with the request and its response. */
async function serve(look: Handled): Promise<void> {
  const failures: unknown[] = [];
  await using server = await startServer((incoming, response) => {
    try {
      look(incoming, response);
    } catch (error) {
      failures.push(error);
    }
    response.end('x'.repeat(100));
  });
  await (await fetch(`${server.url}/here`)).text();
  expect(failures).toEqual([]);
}

describe('the non-public properties of a socket', () => {
  it('include the packet that its parser is parsing', async () => {
    await serve(({ socket }) => expect(String(currentPacket(socket))).toMatch(/^GET \/here HTTP\/1\.1\r\n/));
  });

  it('include the bytes that have been sent', async () => {
    let socket: Socket | undefined;
    await serve((incoming) => {
      socket = incoming.socket;
      socket.write('');
      expect(sentBytes(socket)).toEqual({ sent: 0, unsent: 0 });
      expect(socket).toHaveProperty('_handle.bytesWritten', 0);
      expect(socket).toHaveProperty('_handle.writeQueueSize', 0);
    });
    expect(sentBytes(socket!)).toEqual({ sent: expect.any(Number), unsent: 0 });
  });

  onLinux('include the descriptor, by which the system reports the length of the send buffer', async () => {
    await serve(({ socket }) => {
      const { fd } = (socket as unknown as { _handle: { fd: number } })._handle;
      expect(readSendQueues().get(inodeOf(fd))).toBe(0);
    });
  });

  it('include whether its HTTP server reads, and how its parser resumes', async () => {
    await serve(({ socket }) => {
      expect(socket).toHaveProperty('_paused', false);
      const flow = new SocketFlow(socket);
      flow.pauseReading();
      expect(socket.isPaused()).toBe(true);
      flow.resumeReading();
      expect(socket.isPaused()).toBe(false);
      expect(typeof (socket as unknown as { parser: { resume: unknown } }).parser.resume).toBe('function');
    });
  });

  it.each(['close', 'keep-alive'])(
    'include the header section of a response with Connection: %s',
    async (connection) => {
      let response: ServerResponse | undefined;
      await serve((_incoming, outgoing) => {
        response = outgoing.writeHead(200, { connection });
      });
      expect(announcesClose(response!)).toBe(connection === 'close');
    },
  );
});

it.each([false, true])(
  'a packet whose connection is closed while it is parsed makes no further requests (with a listener of upgrades: %s)',
  async (hasListener) => {
    let count = 0;
    const server = createServer({ IncomingMessage: CompactRequest }, ({ socket }) => {
      if (++count === 10) socket.destroy();
    }).listen(0, '127.0.0.1');
    if (hasListener) server.on('upgrade', (_request, socket) => socket.end());
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(1000));
    await once(client, 'close');
    server.close();
    expect(count).toBe(10);
  },
);

it('CompactRequest passes small chunks on immediately to a reader that asks for them with read()', () => {
  const request = new CompactRequest(new Socket());
  expect(request.read()).toBeNull();
  for (const chunk of ['one', 'two']) {
    request.push(Buffer.from(chunk));
    expect(String(request.read())).toBe(chunk);
  }
});
