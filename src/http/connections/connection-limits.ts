import type { BlockList } from 'node:net';

export interface ConnectionLimits {
  /** Most open connections. */
  readonly connections: number;
  /** Most open connections of one address; an IPv6 /64 network counts as one address. */
  readonly connectionsPerAddress: number;
  /** Trusted proxies; the limit for an address does not apply to them. */
  readonly proxies?: BlockList;
  /** Most bytes of unsent responses and waiting requests. */
  readonly bufferedBytes: number;
  /** Milliseconds a client may read nothing of its response. */
  readonly stallTimeout: number;
  /** Milliseconds until a request must be complete. */
  readonly requestTimeout: number;
  /** Milliseconds a connection may stay open between two requests. */
  readonly keepAliveTimeout: number;
}
