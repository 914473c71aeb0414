import { connect } from 'node:net';
import type { Message } from './message.js';

/** What is done on one connection. */
export interface Script {
  readonly messages: readonly Message[];
  /** Bytes of the first packets, each sent for itself; what is left goes in one. */
  readonly packets: readonly number[];
  /**
   * `wait`: the client waits until the service closes, and when nothing comes any more says that nothing will follow.
   * `half-close`: it says so right behind its last byte. `reset`: it resets the connection some milliseconds later.
   */
  readonly end: 'wait' | 'half-close' | 'reset';
  readonly resetAfter?: number;
}

export interface Transcript {
  readonly received: Buffer;
  /** Whether the service left the connection open although the client had said that nothing will follow. */
  readonly stuck: boolean;
  /** Whether there was no connection at all. */
  readonly refused: boolean;
}

/** Milliseconds without a byte after which no more responses are expected. */
const QUIET = 3000;
/** Milliseconds the service may take to close a connection on which nothing will follow: more than for half a request. */
const FAREWELL = 40_000;

/** Does what a script says, against the service at a URL. */
export function play({ messages, packets, end, resetAfter = 0 }: Script, url: URL): Promise<Transcript> {
  const bytes = Buffer.from(messages.map((message) => message.bytes).join(''), 'latin1');
  return new Promise((resolve) => {
    const received: Buffer[] = [];
    let connected = false;
    let stuck = false;
    const socket = connect({ host: url.hostname, port: Number(url.port), allowHalfOpen: true, noDelay: true });
    // When nothing comes any more, the client says that nothing will follow, and the service has to close.
    const quiet = setTimeout(() => socket.end(), end === 'wait' ? QUIET : 2 * FAREWELL);
    const farewell = setTimeout(() => {
      stuck = true;
      socket.resetAndDestroy();
    }, FAREWELL);
    socket.on('connect', () => {
      connected = true;
      void send();
    });
    socket.on('data', (chunk) => {
      received.push(chunk);
      quiet.refresh();
      farewell.refresh();
    });
    socket.on('end', () => socket.end());
    // What came before a reset counts.
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(quiet);
      clearTimeout(farewell);
      resolve({ received: Buffer.concat(received), stuck, refused: !connected });
    });

    async function send(): Promise<void> {
      let at = 0;
      for (const length of packets) {
        if (socket.destroyed || at >= bytes.length) break;
        socket.write(bytes.subarray(at, at + length));
        at += length;
        await new Promise(setImmediate);
      }
      if (at < bytes.length) socket.write(bytes.subarray(at));
      if (end === 'half-close') socket.end();
      if (end === 'reset') setTimeout(() => socket.resetAndDestroy(), resetAfter);
    }
  });
}
