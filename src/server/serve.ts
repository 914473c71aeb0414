import cluster from 'node:cluster';
import { loadConfigFromProcess } from '../config/config.js';
import { SETTINGS } from '../features.js';

try {
  const config = loadConfigFromProcess(SETTINGS);
  if (config.workers === 1) await (await import('./single-process.js')).start(config);
  else if (cluster.isPrimary) await new (await import('./primary.js')).Primary(config).start();
  else await (await import('./worker.js')).start(config, cluster.worker!);
} catch (error) {
  const { explainStartError } = await import('./start-error.js');
  console.error(explainStartError(error));
  process.exit(1);
}
