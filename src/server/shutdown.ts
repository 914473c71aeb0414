import { inspect } from 'node:util';
import type { Logger } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { closeTerminalAtExit } from '../logging/closed-terminal.js';

/** Stops the process once, and exits. A stop that fails or takes too long exits with 1. */
export class Shutdown {
  hasBegun = false;
  exitCode = 0;
  /** Milliseconds that `stop` may take. */
  readonly timeout = this.config.shutdownDelay + this.config.shutdownTimeout + this.closeTimeout;

  /**
   * @param stop gets the signal or the origin of the error
   * @param closeTimeout milliseconds that `stop` may take beyond SHUTDOWN_DELAY and SHUTDOWN_TIMEOUT
   */
  constructor(
    private readonly stop: (reason: string) => Promise<unknown>,
    private readonly config: Config,
    private readonly closeTimeout: number,
    private readonly logger: Logger,
  ) {}

  /** Listener of SIGTERM, SIGINT and SIGHUP: stops with exit code 0. A second signal exits immediately with 1. */
  readonly onSignal = (signal: NodeJS.Signals): void => {
    if (this.hasBegun) process.exit(1);
    if (signal === 'SIGHUP') closeTerminalAtExit();
    this.begin(signal, 0);
  };

  /** Listener of `uncaughtException`, which unhandled rejections raise, too: stops with exit code 1. */
  readonly onError = (thrown: unknown, origin: string): void => {
    const error = thrown instanceof Error ? thrown : new Error(`${inspect(thrown)} was thrown, which is no Error`);
    this.logger.fatal(error);
    this.begin(origin, 1);
  };

  /** Begins to stop. A repeated call can only replace exit code 0. */
  begin(reason: string, exitCode: number): void {
    this.exitCode ||= exitCode;
    if (this.hasBegun) return;
    this.hasBegun = true;
    this.logger.log(`Stopping (${reason})`);
    setTimeout(() => this.giveUp(), this.timeout);
    this.stop(reason).then(
      () => {
        this.logger.log('Stopped');
        process.exit(this.exitCode);
      },
      (error: unknown) => {
        this.logger.fatal(error);
        process.exit(1);
      },
    );
  }

  private giveUp(): never {
    const open = [...new Set(process.getActiveResourcesInfo())].join(', ');
    this.logger.fatal(`The service did not stop within ${this.timeout} ms; still open: ${open}`);
    process.exit(1);
  }
}
