import {
  AggregatorRegistry,
  collectDefaultMetrics,
  Counter,
  Gauge,
  type MetricValueWithName,
  Registry,
} from 'prom-client';
import type { Managed, Readiness } from '../management/management-routes.js';
import type { MetricValues, WorkerProcess } from './worker-process.js';

/** Health and metrics of all workers together. See docs/adr/0110-workers.md. */
export class WorkersManagement implements Managed {
  readonly crashes: Counter;
  isStopping = false;

  private readonly own = new Registry();
  private readonly serving: Gauge;
  /** Counters and histograms of ended workers: a counter must not decrease. */
  private endedCounts: MetricValues[] = [];

  constructor(private readonly workers: ReadonlySet<WorkerProcess>) {
    const registers = [this.own];
    collectDefaultMetrics({ register: this.own });
    this.serving = new Gauge({ name: 'workers_serving', help: 'Workers that serve now (WORKERS)', registers });
    const help = 'Workers that ended without being asked to stop';
    this.crashes = new Counter({ name: 'worker_crashes_total', help, registers });
  }

  /** Whether every worker that serves replies: a blocked worker still gets connections. */
  async isLive(): Promise<boolean> {
    return (await this.ask('liveness')).every(({ reply }) => reply === true);
  }

  /** The readiness of the first worker that is not ready; if all are ready, of the first worker. */
  async readiness(): Promise<Readiness> {
    const replies = (await this.ask('readiness')) as { worker: WorkerProcess; reply?: Readiness }[];
    const all = replies.map(({ worker, reply }) => reply ?? notReady(`${worker.name} does not respond`));
    const shown = all.find(({ ready }) => !ready) ?? all[0] ?? notReady('no worker serves');
    if (!this.isStopping) return shown;
    return { ready: false, checks: { ...shown.checks, running: 'the service is shutting down' } };
  }

  /** The metrics of all processes. A worker that does not reply is counted with its last report. */
  async metrics(): Promise<Registry> {
    const replies = (await this.ask('metrics')) as { worker: WorkerProcess; reply?: MetricValues[] }[];
    this.serving.set(replies.length);
    // A worker that closed its port meanwhile sends a final report, which is newer.
    for (const { worker, reply } of replies) if (worker.isServing) worker.metrics = reply ?? worker.metrics;
    const own = (await this.own.getMetricsAsJSON()) as MetricValues[];
    return sum([...[...this.workers].map(({ metrics }) => metrics), own, this.endedCounts]);
  }

  /** Adds the counters of a worker that has ended. */
  keepCounts({ metrics }: WorkerProcess): void {
    const counts = metrics.filter(({ type }) => ['counter', 'histogram'].includes(String(type)));
    this.endedCounts = sum([this.endedCounts, counts]).getMetricsAsArray() as unknown as MetricValues[];
  }

  private ask(request: string): Promise<{ worker: WorkerProcess; reply: unknown }[]> {
    const serving = [...this.workers].filter(({ isServing }) => isServing);
    return Promise.all(serving.map(async (worker) => ({ worker, reply: await worker.channel.ask(request) })));
  }
}

/** Sums the metrics. Averages become the maximum, since a mean hides a blocked worker; omitted metrics the minimum. */
function sum(processes: MetricValues[][]): Registry {
  for (const metric of processes.flat()) {
    if (metric.aggregator === 'average') metric.aggregator = 'max';
    if (metric.aggregator === 'omit') metric.aggregator = 'min';
  }
  const sums: Registry = AggregatorRegistry.aggregate(processes);
  addExemplars(sums.getMetricsAsArray() as unknown as MetricValues[], processes.flat());
  return sums;
}

type Value = MetricValueWithName<string> & { exemplar?: { timestamp: number } | null };

/** Adds the newest exemplar of each bucket, since prom-client leaves exemplars out of sums. */
function addExemplars(sums: MetricValues[], metrics: MetricValues[]): void {
  const key = ({ metricName, labels }: Value): string => JSON.stringify([metricName, labels]);
  const newest = new Map<string, Value['exemplar']>();
  for (const value of metrics.flatMap(({ values }) => values as Value[])) {
    const { exemplar } = value;
    if (exemplar && exemplar.timestamp > (newest.get(key(value))?.timestamp ?? 0)) newest.set(key(value), exemplar);
  }
  if (newest.size === 0) return;
  for (const value of sums.flatMap(({ values }) => values as Value[])) value.exemplar = newest.get(key(value));
}

function notReady(running: string): Readiness {
  return { ready: false, checks: { running, database: 'not known', migrations: 'not known', storage: 'not known' } };
}
