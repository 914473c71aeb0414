import { collectDefaultMetrics, Counter, Registry } from 'prom-client';
import { addGauge } from '../management/add-gauge.js';
import type { Managed, Readiness } from '../management/management-routes.js';
import { type MetricValues, sumMetrics } from '../management/metric-sums.js';
import type { WorkerProcess } from './worker-process.js';

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
    const serving = { name: 'workers_serving', help: 'Workers that serve now (WORKERS)' };
    addGauge(this.own, serving, () => this.serving.length);
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
    const all = await Promise.all(this.serving.map(readinessOf));
    const reason = this.isStopping ? 'the service is shutting down' : 'no worker serves';
    return all.find(({ ready }) => !ready) ?? all[0] ?? notReady(reason);
  }

  /** The metrics of all processes. A worker that does not reply is counted with its last report. */
  async metrics(): Promise<Registry> {
    const update = async (worker: WorkerProcess): Promise<void> => {
      const metrics = (await worker.channel.ask('metrics')) as MetricValues[] | undefined;
      // A worker that closed its port meanwhile sends a final report, which is newer.
      if (worker.isServing) worker.metrics = metrics ?? worker.metrics;
    };
    await Promise.all(this.serving.map(update));
    const own = await this.own.getMetricsAsJSON();
    return sumMetrics([...[...this.workers].map(({ metrics }) => metrics), own, this.endedCounts]);
  }

  /** Adds the counters of a worker that has ended. */
  keepCounts({ metrics }: WorkerProcess): void {
    const counts = metrics.filter(({ type }) => ['counter', 'histogram'].includes(String(type)));
    this.endedCounts = sumMetrics([this.endedCounts, counts]).getMetricsAsArray() as unknown as MetricValues[];
  }
}

async function readinessOf({ channel, name }: WorkerProcess): Promise<Readiness> {
  const readiness = (await channel.ask('readiness')) as Readiness | undefined;
  return readiness ?? notReady(`${name} does not respond`);
}

function notReady(running: string): Readiness {
  return { ready: false, checks: { running, database: 'not known', migrations: 'not known', storage: 'not known' } };
}
