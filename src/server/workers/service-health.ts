import type { Readiness } from '../../management/readiness.js';
import type { WorkerPool } from './worker-pool.js';
import type { WorkerProcess } from './worker-process.js';

const NOT_KNOWN = 'not known';

/** Whether the service as a whole is alive and ready, as its workers report it. */
export class ServiceHealth {
  isStopping = false;

  constructor(private readonly pool: WorkerPool) {}

  /** Whether every worker that serves responds: one that does not gets connections all the same. */
  async isLive(): Promise<boolean> {
    const responses = await Promise.all(this.pool.serving.map((worker) => worker.call('ping')));
    return responses.every((response) => response === true);
  }

  /** Whether there is a worker, and each that serves is ready. The checks are those of one that is not, where there is one. */
  async readiness(): Promise<Readiness> {
    const workers = await Promise.all(this.pool.serving.map(readinessOf));
    const shown = workers.find(({ ready }) => !ready) ?? workers[0] ?? notReady('no worker serves');
    if (!this.isStopping) return shown;
    return { ready: false, checks: { ...shown.checks, running: 'the service is shutting down' } };
  }
}

async function readinessOf(worker: WorkerProcess): Promise<Readiness> {
  const readiness = await worker.call('readiness');
  // One that ends meanwhile gets no connections any more.
  return readiness ?? notReady(`${worker.name} does not respond`);
}

function notReady(running: string): Readiness {
  return { ready: false, checks: { running, database: NOT_KNOWN, migrations: NOT_KNOWN, storage: NOT_KNOWN } };
}
