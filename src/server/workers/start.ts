import cluster from 'node:cluster';
import type { Config } from '../../config/config.js';

/** Serves with several processes. The one that is started supervises workers, which it starts from the same program. */
export async function start(config: Config): Promise<void> {
  if (cluster.isPrimary) {
    const { Primary } = await import('./primary.js');
    await new Primary(config).start();
  } else {
    const { startWorker } = await import('./worker.js');
    await startWorker(config, cluster.worker!.id);
  }
}
