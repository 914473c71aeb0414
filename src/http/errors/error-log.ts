import { Readable } from 'node:stream';
import { HttpException, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ConstraintViolation } from '../../database/constraint-violation.js';
import {
  DatabaseUnavailableError,
  DiskFullError,
  OutcomeUnknownError,
  type UnavailableKind,
} from '../../database/errors.js';
import { Outage } from '../../logging/outage.js';
import { reasonOf, stackOf } from '../../logging/reason.js';
import { originOfRequest, routeOf } from '../messages/request.js';

/** Milliseconds between two log lines about one outage, each with the number of rejected requests. */
const INTERVAL = 10_000;
/** The interval for problems that last until an operator acts. */
const LONG_INTERVAL = 60_000;

/** Logs the first rejection of an outage (503, or 507 because of a full disk) with its cause, and counts the others. */
@Injectable()
export class ErrorLog implements OnApplicationShutdown {
  private readonly logger = new Logger('Error');
  private readonly outages: Readonly<Record<UnavailableKind | 'full', Outage>> = {
    full: this.outage('The volume of the database is full; delete records or enlarge the volume', LONG_INTERVAL),
    busy: this.outage('Requests are rejected with 503', INTERVAL, 'warn'),
    damaged: this.outage('The database is damaged; run: cli doctor, and restore it from a backup', LONG_INTERVAL),
    unreachable: this.outage('The database cannot be reached', INTERVAL),
  };

  /** Logs a request that is rejected with 503 or 507. `origin` comes from `originOf`. */
  rejected(error: unknown, origin: string): void {
    // Each unknown outcome has its own line, because an operator must look at the record.
    if (error instanceof OutcomeUnknownError) {
      this.logger.error(`The outcome of a change is unknown: ${reasonOf(error)} (${origin})`);
    }
    this.outageOf(error)?.report(described(error as Error, origin));
  }

  /**
   * Logs a write that violated a constraint, without any value. A conflict or a missing record is normal; another value
   * that the database rejects and the validation accepts is an error in the code.
   */
  violated({ kind, reason }: ConstraintViolation, status: number, origin: string): void {
    const level = status === 409 || kind === 'foreign key' ? 'log' : 'warn';
    this.logger[level](`The database rejects a statement: ${reason} (${origin})`);
  }

  /** Logs a stream that failed after its first bytes: its client gets a success status with an incomplete body. */
  logBrokenStream(error: Error, request: FastifyRequest): void {
    const where = `${request.method} ${routeOf(request)} broke off (request ${request.id})`;
    const outage = this.outageOf(error);
    if (outage === undefined) this.logger.error(where, stackOf(error));
    else this.logger.error(`${where}: ${reasonOf(error)}`);
    outage?.report(described(error, originOfRequest(request)));
  }

  onApplicationShutdown(): void {
    for (const outage of Object.values(this.outages)) outage.close();
  }

  private outageOf(error: unknown): Outage | undefined {
    if (error instanceof DiskFullError) return this.outages.full;
    if (error instanceof DatabaseUnavailableError) return this.outages[error.kind];
    return error instanceof HttpException && error.getStatus() === 503 ? this.outages.busy : undefined;
  }

  private outage(problem: string, interval: number, level: 'error' | 'warn' = 'error'): Outage {
    const seconds = interval / 1000;
    return new Outage({
      interval,
      onStart: (rejection) => this.logger[level](`${problem}: ${rejection}`),
      onRepeat: (repeats) => this.logger[level](`${problem}: ${repeats} more requests in ${seconds} s`),
      onEnd: ({ count, milliseconds }) => {
        const total = Math.round(milliseconds / 1000);
        this.logger.log(`${problem}: no more rejections in the last ${seconds} s; ${count} in all in ${total} s`);
      },
    });
  }
}

/** Logs why the stream of a response failed after its first bytes, when the response can only be cut off. */
export function logBrokenStreams(app: FastifyInstance, errors: ErrorLog): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    if (payload instanceof Readable) {
      payload.once('error', (error) => {
        // An HttpException is not an error of the source: the client has read the list too slowly.
        if (reply.raw.headersSent && !(error instanceof HttpException)) errors.logBrokenStream(error, request);
      });
    }
    done(null, payload);
  });
}

const described = (error: Error, origin: string): string => `${reasonOf(error)} (first met by ${origin})`;
