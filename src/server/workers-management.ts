import { AggregatorRegistry, collectDefaultMetrics, Counter, Registry } from 'prom-client';
import { addGauge } from '../management/add-gauge.js';
import type { Managed, Readiness } from '../management/management-routes.js';
import type { MetricValues, WorkerProcess } from './worker-process.js';

/** Health and metrics of all workers together. See docs/adr/0110-workers.md. */
export class WorkersManagement implements Managed {
  isStopping = false;
  private readonly own = new Registry();
  readonly crashes = new Counter({
    name: 'worker_crashes_total',
    help: 'Workers that ended without being asked to stop',
    registers: [this.own],
  });
  /** Counters and histograms of ended workers: a counter must not decrease. */
  private endedCounts: MetricValues[] = [];

  constructor(private readonly workers: ReadonlySet<WorkerProcess>) {
    collectDefaultMetrics({ register: this.own });
    addGauge(this.own, 'workers_serving', 'Workers that serve now (WORKERS)', () => this.serving.length);
  }

  private get serving(): WorkerProcess[] {
    return [...this.workers].filter(({ isServing }) => isServing);
  }

  /** Whether every worker that serves replies: a blocked worker still gets connections. */
  async isLive(): Promise<boolean> {
    const replies = await Promise.all(this.serving.map(({ channel }) => channel.ask('liveness')));
    return replies.every((reply) => reply === true);
  }

  /** The readiness of the first worker that is not ready; if all are ready, of the first worker. */
  async readiness(): Promise<Readiness> {
    const readinessOf = async ({ channel, name }: WorkerProcess): Promise<Readiness> =>
      ((await channel.ask('readiness')) as Readiness | undefined) ?? notReady(`${name} does not respond`);
    const all = await Promise.all(this.serving.map(readinessOf));
    const reason = this.isStopping ? 'the service is shutting down' : 'no worker serves';
    return all.find(({ ready }) => !ready) ?? all[0] ?? notReady(reason);
  }

  /** The metrics of all processes. A worker that does not reply is counted with its last report. */
  async metrics(): Promise<Registry> {
    await Promise.all(this.serving.map(({ channel }) => channel.ask('metrics')));
    const own = (await this.own.getMetricsAsJSON()) as MetricValues[];
    return sumOf([...this.endedCounts, ...[...this.workers].flatMap(({ metrics }) => metrics), ...own]);
  }

  keepCounts({ metrics }: WorkerProcess): void {
    const counts = metrics.filter(({ type }) => ['counter', 'histogram'].includes(String(type)));
    this.endedCounts = valuesOf(sumOf([...this.endedCounts, ...counts]));
  }
}

function notReady(running: string): Readiness {
  return { ready: false, checks: { running, database: 'not known', migrations: 'not known', storage: 'not known' } };
}

/**
 * Adds up the metrics of several processes. Averages become the maximum, since a mean hides a blocked process; metrics
 * that prom-client would omit become the minimum. A bucket has the exemplar of one process.
 */
function sumOf(metrics: readonly MetricValues[]): Registry {
  const keyOf = ({ metricName, labels }: MetricValues['values'][number]): string =>
    JSON.stringify([metricName, labels]);
  const exemplars = new Map<string, object>();
  for (const metric of metrics) {
    if (metric.aggregator === 'average') metric.aggregator = 'max';
    if (metric.aggregator === 'omit') metric.aggregator = 'min';
    for (const value of metric.values) if (value.exemplar) exemplars.set(keyOf(value), value.exemplar);
  }
  const sums: Registry = AggregatorRegistry.aggregate([metrics as MetricValues[]]);
  if (exemplars.size === 0) return sums;
  for (const value of valuesOf(sums).flatMap(({ values }) => values)) value.exemplar = exemplars.get(keyOf(value));
  return sums;
}

const valuesOf = (sums: Registry) => sums.getMetricsAsArray() as unknown as MetricValues[];
