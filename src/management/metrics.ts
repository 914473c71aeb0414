import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { FastifyInstance } from 'fastify';
import { levels } from 'pino';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { DataSource } from 'typeorm';
import { committed } from '../database/transactions.js';
import { type StatementTiming, statementTimings } from '../database/timing.js';
import { routeOf } from '../http/request-log.js';
import { standardOutput } from '../logging/standard-output.js';
import { StorageRegistry } from '../storage/storage.module.js';

// Seconds: a cached answer takes a fraction of a millisecond, a long list some seconds.
const REQUEST_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const STATEMENT_BUCKETS = [0.00001, 0.00005, 0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];

/** The figures of one application, in a registry of its own. */
@Injectable()
export class Metrics implements OnModuleDestroy {
  readonly registry = new Registry();

  private readonly requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its answer',
    labelNames: ['method', 'route', 'status'],
    buckets: REQUEST_BUCKETS,
    registers: [this.registry],
  });
  private readonly statements = new Histogram({
    name: 'database_statement_duration_seconds',
    help: 'Time in the database engine, a statement',
    labelNames: ['kind'],
    buckets: STATEMENT_BUCKETS,
    registers: [this.registry],
  });

  private readonly statementsOf = {
    read: this.statements.labels({ kind: 'read' }),
    write: this.statements.labels({ kind: 'write' }),
  };
  /** The series of each method, route and status: looking one up here is cheaper than by its labels. */
  private readonly requestsOf = new Map<string, Histogram.Internal<'method' | 'route' | 'status'>>();

  private requestsInFlight = 0;

  constructor(storages: StorageRegistry, @InjectDataSource() dataSource: DataSource) {
    collectDefaultMetrics({ register: this.registry });
    const inFlight = (): number => this.requestsInFlight;
    new Gauge({
      name: 'http_requests_in_flight',
      help: 'Requests that are being answered now',
      registers: [this.registry],
      collect() {
        this.set(inFlight());
      },
    });
    new Gauge({
      name: 'storage_records',
      help: 'Records stored now',
      labelNames: ['resource'],
      registers: [this.registry],
      async collect() {
        this.reset();
        for (const storage of storages.resources) {
          // A database that is down must not take the other figures away.
          const account = await storage.account(committed(dataSource)).catch(() => undefined);
          if (account !== undefined) this.set({ resource: storage.resource }, account.used);
        }
      },
    });
    new Gauge({
      name: 'storage_capacity_records',
      help: 'Records that may be stored',
      labelNames: ['resource'],
      registers: [this.registry],
      collect() {
        for (const { resource, capacity } of storages.resources) this.set({ resource }, capacity);
      },
    });
    new Counter({
      name: 'log_lines_dropped_total',
      help: 'Log lines that were dropped since the reader of the log did not take them',
      labelNames: ['level'],
      registers: [this.registry],
      collect() {
        const { dropped } = standardOutput();
        this.reset();
        for (const [level, label] of Object.entries(levels.labels)) {
          this.inc({ level: label }, dropped.get(Number(level)) ?? 0);
        }
      },
    });
    statementTimings.subscribe(this.observeStatement);
  }

  /** Measures every request of the application. */
  observe(app: FastifyInstance): void {
    app.addHook('onRequest', (_request, _reply, done) => {
      this.requestsInFlight++;
      done();
    });
    app.addHook('onResponse', (request, reply, done) => {
      this.requestsInFlight--;
      this.seriesOf(request.method, routeOf(request), reply.statusCode).observe(reply.elapsedTime / 1000);
      done();
    });
  }

  private seriesOf(method: string, route: string, status: number): Histogram.Internal<'method' | 'route' | 'status'> {
    const key = `${method} ${status} ${route}`;
    let series = this.requestsOf.get(key);
    if (series === undefined) {
      series = this.requests.labels({ method, route, status });
      this.requestsOf.set(key, series);
    }
    return series;
  }

  onModuleDestroy(): void {
    statementTimings.unsubscribe(this.observeStatement);
    this.registry.clear();
  }

  private readonly observeStatement = (message: unknown): void => {
    const { kind, seconds } = message as StatementTiming;
    this.statementsOf[kind].observe(seconds);
  };
}
