import type { Socket } from 'node:net';

/**
 * What Node does not publish of a socket and is needed all the same; `node-internals.spec.ts` fails when a new line of Node changes it.
 * Without it, requests behind a slow one would be read for ever, a client that reads slowly would look like one that does not
 * read, and RTSP/1.0 would be taken for HTTP/1.0.
 */
interface SocketInternals {
  /** Whether Node's HTTP server has stopped reading. */
  _paused?: boolean;
  readonly parser?: { resume(): void; getCurrentBuffer(): Buffer | undefined } | null;
  /** Bytes that libuv was given, and those that it has still to send. */
  readonly _handle: { readonly bytesWritten: number; readonly writeQueueSize: number } | null;
}

const internalsOf = (socket: Socket): SocketInternals => socket as unknown as SocketInternals;

/** Stops reading as Node's HTTP server does: it goes on when what was sent has drained. */
export function pauseReading(socket: Socket): void {
  internalsOf(socket)._paused = true;
  socket.pause();
}

export function resumeReading(socket: Socket): void {
  const internals = internalsOf(socket);
  internals._paused = false;
  // Node's server has paused it, too, behind the packet that was too much.
  internals.parser?.resume();
  socket.resume();
}

/** Bytes that the operating system has taken, and those that wait for it. */
export function flowOf(socket: Socket): { readonly sent: number; readonly unsent: number } {
  const { _handle: handle } = internalsOf(socket);
  if (handle === null) return { sent: 0, unsent: socket.writableLength };
  const { bytesWritten, writeQueueSize } = handle;
  return { sent: bytesWritten - writeQueueSize, unsent: Math.max(writeQueueSize, socket.writableLength) };
}

/** The packet that Node's parser has in hand while it tells of a request. */
export function currentPacket(socket: Socket): Buffer | undefined {
  return internalsOf(socket).parser?.getCurrentBuffer();
}
