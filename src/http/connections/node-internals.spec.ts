import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { currentPacket, flowOf, pauseReading, resumeReading } from './node-internals.js';

type Handled = (request: IncomingMessage, response: ServerResponse) => void;

/** Sends one request to a server of Node and lets `look` look at the server's side of it. */
async function serve(look: Handled): Promise<void> {
  const failures: unknown[] = [];
  const server = createServer((incoming, response) => {
    try {
      look(incoming, response);
    } catch (error) {
      failures.push(error);
    }
    response.end('x'.repeat(100));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sent = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', path: '/here' }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  server.close();
  expect(failures).toEqual([]);
}

describe('what Node does not publish of a socket', () => {
  it('is the packet that its parser has in hand', async () => {
    await serve(({ socket }) => expect(String(currentPacket(socket))).toMatch(/^GET \/here HTTP\/1\.1\r\n/));
  });

  it('is how much of what was written has been sent', async () => {
    let socket: Socket | undefined;
    await serve((incoming) => {
      socket = incoming.socket;
      socket.write('');
      expect(flowOf(socket)).toEqual({ sent: 0, unsent: 0 });
      expect(socket).toHaveProperty('_handle.bytesWritten', 0);
      expect(socket).toHaveProperty('_handle.writeQueueSize', 0);
    });
    expect(flowOf(socket!)).toEqual({ sent: expect.any(Number), unsent: 0 });
  });

  it('is whether its HTTP server reads, and how its parser goes on', async () => {
    await serve(({ socket }) => {
      expect(socket).toHaveProperty('_paused', false);
      pauseReading(socket);
      expect(socket.isPaused()).toBe(true);
      resumeReading(socket);
      expect(socket.isPaused()).toBe(false);
      expect(typeof (socket as unknown as { parser: { resume: unknown } }).parser.resume).toBe('function');
    });
  });
});
