import { HttpException, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { FastifyRequest } from 'fastify';
import type { DataSource } from 'typeorm';
import type { ConstraintViolation } from '../../database/constraint-violation.js';
import { engineOf } from '../../database/engine.js';
import {
  DatabaseUnavailableError,
  DiskFullError,
  OutcomeUnknownError,
  type UnavailableKind,
} from '../../database/errors.js';
import { Episode, type EpisodeSummary } from '../../logging/episode.js';
import { routeOf } from '../routing/route-of.js';

/** A request that was rejected, or whose list broke off. */
interface Rejection {
  readonly error: Error;
  readonly request: FastifyRequest;
}

/** Milliseconds after which the log repeats that an outage goes on, with how many requests were rejected since. */
const OUTAGE_INTERVAL = 60_000;
const OVERLOAD_INTERVAL = 10_000;
/** Milliseconds between two looks whether the database is back. */
const AWAY_INTERVAL = 1000;

/**
 * The log of rejections that are foreseen: 503, and 507 for a full volume. Each has its request line anyway; here the cause is
 * said once, the rest is counted. Never with a stack: nothing in the code is wrong.
 */
@Injectable()
export class ErrorLog implements OnApplicationShutdown {
  private readonly logger = new Logger('Error');
  private readonly diskFull = this.persistent('The volume of the database is full; delete records or give it room');
  private readonly overload: Episode<Rejection>;
  private readonly unavailable: Readonly<Record<UnavailableKind, Episode<Rejection>>>;

  constructor(@InjectDataSource() dataSource: DataSource) {
    this.overload = this.repeating('warn', 'Requests are rejected with 503', OVERLOAD_INTERVAL);
    this.unavailable = {
      busy: this.overload,
      damaged: this.persistent('The database is damaged; run: cli doctor, and restore it from a backup'),
      away: this.outage(() => engineOf(dataSource).check()),
    };
  }

  /** Logs a request that is rejected with 503 or 507. */
  rejected(error: unknown, request: FastifyRequest): void {
    // Each by itself: somebody has to look what became of it.
    if (error instanceof OutcomeUnknownError) {
      const where = `request ${request.id}, ${request.method} ${routeOf(request)}`;
      this.logger.error(`Nobody knows whether a change was stored: ${reasonOf(error)} (${where})`);
    }
    this.episodeOf(error)?.report({ error: error as Error, request });
  }

  /**
   * Logs a request whose write broke a constraint, without any value. Conflicts are part of normal work; a value that the database
   * rejects and the validation does not is something to mend in the code.
   * @param status of the response
   */
  violated({ reason }: ConstraintViolation, status: number, request: FastifyRequest): void {
    const level = status === 409 ? 'log' : 'warn';
    const where = `request ${request.id}, ${request.method} ${routeOf(request)}`;
    this.logger[level](`The database rejects a statement: ${reason} (${where})`);
  }

  /**
   * Logs a list whose source failed after its first part was sent: its client sees a body that breaks off, under status 200.
   * @param bytes that had been sent
   */
  listBrokeOff(error: unknown, request: FastifyRequest, bytes: number): void {
    const where = `${request.method} ${routeOf(request)} broke off after ${bytes} bytes (request ${request.id})`;
    const episode = this.episodeOf(error);
    if (episode === undefined) this.logger.error(where, (error as Error).stack);
    else this.logger.error(`${where}: ${reasonOf(error as Error)}`);
    episode?.report({ error: error as Error, request });
  }

  onApplicationShutdown(): void {
    for (const episode of [this.diskFull, ...Object.values(this.unavailable)]) episode.close();
  }

  private episodeOf(error: unknown): Episode<Rejection> | undefined {
    if (error instanceof DiskFullError) return this.diskFull;
    if (error instanceof DatabaseUnavailableError) return this.unavailable[error.kind];
    return isUnavailable(error) ? this.overload : undefined;
  }

  private persistent(what: string): Episode<Rejection> {
    return this.repeating('error', what, OUTAGE_INTERVAL);
  }

  private repeating(level: 'error' | 'warn', what: string, interval: number): Episode<Rejection> {
    const seconds = interval / 1000;
    return new Episode<Rejection>({
      interval,
      began: (rejection) => this.logger[level](`${what}: ${described(rejection)}`),
      continued: (repeats) => this.logger[level](`${what}: ${repeats} more requests in ${seconds} s`),
    });
  }

  private outage(check: () => Promise<void>): Episode<Rejection> {
    return new Episode<Rejection>({
      interval: AWAY_INTERVAL,
      began: (rejection) => this.logger.error(`The database is away: ${described(rejection)}`),
      ended: (summary) => this.logger.log(`The database is back ${outageOf(summary)}`),
      isOver: () => check().then(() => true),
    });
  }
}

/** An error of Nest with status 503, such as one of a limit. */
function isUnavailable(error: unknown): boolean {
  return error instanceof HttpException && error.getStatus() === 503;
}

function described({ error, request }: Rejection): string {
  return `${reasonOf(error)} (first met by request ${request.id}, ${request.method} ${routeOf(request)})`;
}

/** The messages of the error and of its cause. */
function reasonOf({ message, cause }: Error): string {
  const inner =
    cause instanceof Error || typeof (cause as Error | undefined)?.message === 'string' ? (cause as Error) : undefined;
  return inner === undefined || message.includes(inner.message) ? message : `${message}: ${inner.message}`;
}

function outageOf({ count, milliseconds }: EpisodeSummary): string {
  return `after ${(milliseconds / 1000).toFixed(1)} s, in which ${count} requests were rejected`;
}
