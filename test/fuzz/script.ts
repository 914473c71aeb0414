import { connect } from 'node:net';
import type { Message } from './message.js';

/** The actions on one connection. */
export interface Script {
  readonly messages: readonly Message[];
  /** Bytes of the first packets. The rest is sent in one packet. */
  readonly packets: readonly number[];
  /**
   * `wait`: the client waits for the service to close; after a pause it ends its side. `half-close`: it ends its side
   * after its last byte. `reset`: it resets the connection some milliseconds later.
   */
  readonly end: 'wait' | 'half-close' | 'reset';
  readonly resetAfter?: number;
}

export interface Transcript {
  readonly received: Buffer;
  /** Whether the service left the connection open after the client had ended its side. */
  readonly stuck: boolean;
  /** Whether the client ended its side first: as its script says, or because nothing came for `QUIET`. */
  readonly clientEnded: boolean;
  /** Whether there was no connection. */
  readonly refused: boolean;
}

/** Milliseconds without a byte after which no more responses are expected. */
const QUIET = 6000;
/**
 * Milliseconds in which the service must close a connection whose client has ended its side; longer than for half a
 * request.
 */
const FAREWELL = 40_000;

/** Plays a script against the service at a URL. */
export function play({ messages, packets, end, resetAfter = 0 }: Script, url: URL): Promise<Transcript> {
  const bytes = Buffer.from(messages.map((message) => message.bytes).join(''), 'latin1');
  return new Promise((resolve) => {
    const received: Buffer[] = [];
    let connected = false;
    let stuck = false;
    let clientEnded = false;
    const socket = connect({ host: url.hostname, port: Number(url.port), allowHalfOpen: true, noDelay: true });
    // After a pause the client ends its side, and the service must close the connection.
    const quiet = setTimeout(endFirst, end === 'wait' ? QUIET : 2 * FAREWELL);
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
    // Bytes before a reset count.
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(quiet);
      clearTimeout(farewell);
      resolve({ received: Buffer.concat(received), stuck, clientEnded, refused: !connected });
    });

    function endFirst(): void {
      clientEnded = true;
      socket.end();
    }

    async function send(): Promise<void> {
      let at = 0;
      for (const length of packets) {
        if (socket.destroyed || at >= bytes.length) break;
        socket.write(bytes.subarray(at, at + length));
        at += length;
        await new Promise(setImmediate);
      }
      if (at < bytes.length) socket.write(bytes.subarray(at));
      if (end === 'half-close') endFirst();
      if (end === 'reset') setTimeout(() => socket.resetAndDestroy(), resetAfter);
    }
  });
}
