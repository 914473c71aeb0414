import { AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { MetricValues } from './messages.js';
import type { WorkerPool } from './worker-pool.js';
import type { WorkerProcess } from './worker-process.js';

type Aggregator = 'sum' | 'first' | 'min' | 'max' | 'average' | 'omit';

/**
 * How the figures of several processes become one, where that is not what prom-client or the metric itself says (which is mostly the
 * sum). See docs/adr/0111-metrics-of-workers.md.
 */
const AGGREGATORS: Readonly<Record<string, Aggregator>> = {
  // Each worker sees the same database.
  storage_records: 'first',
  storage_capacity_records: 'first',
  database_volume_free_bytes: 'first',
  database_wal_bytes: 'first',
  // The service has been up as long as its oldest process, this one.
  process_start_time_seconds: 'min',
  // The mean of a worker that is stuck and of others that are not would hide it.
  nodejs_eventloop_lag_seconds: 'max',
  nodejs_eventloop_lag_mean_seconds: 'max',
  nodejs_eventloop_lag_stddev_seconds: 'max',
  nodejs_eventloop_lag_p50_seconds: 'max',
  nodejs_eventloop_lag_p90_seconds: 'max',
  nodejs_eventloop_lag_p99_seconds: 'max',
};

/** The figures of all processes of the service, added up. */
export class ServiceMetrics {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;

  private readonly own = new Registry();
  /** What each worker has reported last. */
  private readonly latest = new Map<WorkerProcess, MetricValues[]>();
  /** What those have counted that have ended: a counter never goes down. */
  private ended: MetricValues[] = [];
  /** One after the other: each adds to what the one before has made. */
  private keeping = Promise.resolve();

  constructor(private readonly pool: WorkerPool) {
    collectDefaultMetrics({ register: this.own });
    this.measureWorkers();
    pool.on('forked', (worker) => {
      worker.onLastMetrics = (metrics) => this.latest.set(worker, metrics);
      void worker.ended.then(() => (this.keeping = this.keeping.then(() => this.keepCounts(worker))));
    });
  }

  /** In the text format of Prometheus. Of a worker that does not respond, what it reported last. */
  async metrics(): Promise<string> {
    await Promise.all(this.pool.serving.map((worker) => this.update(worker)));
    await this.keeping;
    const own = (await this.own.getMetricsAsJSON()) as MetricValues[];
    return aggregate([...this.latest.values(), own, this.ended]).metrics();
  }

  private async update(worker: WorkerProcess): Promise<void> {
    const metrics = await worker.call('metrics');
    // One that stops meanwhile has sent its last ones.
    if (metrics !== undefined && worker.isServing) this.latest.set(worker, metrics);
  }

  private async keepCounts(worker: WorkerProcess): Promise<void> {
    const metrics = this.latest.get(worker) ?? [];
    const counts = metrics.filter(({ type }) => ['counter', 'histogram'].includes(String(type)));
    const ended = (await aggregate([this.ended, counts]).getMetricsAsJSON()) as MetricValues[];
    this.latest.delete(worker);
    this.ended = ended;
  }

  private measureWorkers(): void {
    const { pool } = this;
    new Gauge({
      name: 'workers_serving',
      help: 'Workers that take requests now (WORKERS)',
      registers: [this.own],
      collect() {
        this.set(pool.serving.length);
      },
    });
    new Counter({
      name: 'worker_crashes_total',
      help: 'Workers that ended though nobody had asked them to',
      registers: [this.own],
      collect() {
        this.reset();
        this.inc(pool.crashes);
      },
    });
  }
}

function aggregate(processes: readonly MetricValues[][]): Registry {
  const aggregated = processes.map((metrics) =>
    metrics.map((metric) => ({ ...metric, aggregator: AGGREGATORS[metric.name] ?? metric.aggregator })),
  );
  return AggregatorRegistry.aggregate(aggregated);
}
