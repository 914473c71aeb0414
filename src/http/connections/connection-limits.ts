import type { BlockList } from 'node:net';

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
