import pg, { type ClientConfig } from 'pg';
import type { PostgresHost } from '../../config/postgres-url.js';
import type { Hosts } from './hosts.js';
import { isServerFull } from './postgres-errors.js';

export interface PostgresClientConfig extends ClientConfig {
  readonly hosts: Hosts;
  /** Milliseconds a server may take to accept a connection. */
  readonly connectTimeout: number;
}

/** One connection, to the server that was the primary last. */
export class PostgresClient extends pg.Client {
  readonly target: PostgresHost;
  readonly generation: number;
  /** Set when its state is not known, so that whoever takes it back closes it. */
  mustClose = false;
  private readonly hosts: Hosts;
  private unconfirmed = false;

  constructor(config: PostgresClientConfig) {
    const { hosts } = config;
    const target = hosts.current;
    // The pool hides the password from those who copy its options.
    super({ ...config, ...target, password: config.password, connectionTimeoutMillis: config.connectTimeout });
    this.target = target;
    this.hosts = hosts;
    this.generation = hosts.generation;
    // A connection that breaks tells whoever waits for an answer; without a listener, it would also end the process.
    this.on('error', () => undefined);
    this.on('notice', (notice) => {
      if (notice.routine === 'SyncRepWaitForLSN') this.unconfirmed = true;
    });
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<pg.Client> | void {
    if (callback === undefined) return super.connect();
    super.connect((error: Error | null) => {
      if (error && !isServerFull(error)) this.hosts.leave(this.target);
      callback(error as Error);
    });
  }

  /** Milliseconds to wait for an answer; 0 waits for ever. */
  set patience(milliseconds: number) {
    (this as unknown as { connectionParameters: { query_timeout: number } }).connectionParameters.query_timeout =
      milliseconds;
  }

  /**
   * Whether since the last call something was committed that no standby has confirmed: the wait was cancelled, and the server
   * says so in a mere notice (src/backend/replication/syncrep.c).
   */
  takeUnconfirmed(): boolean {
    const { unconfirmed } = this;
    this.unconfirmed = false;
    return unconfirmed;
  }
}
