import cluster from 'node:cluster';
import { setFlagsFromString } from 'node:v8';
import { loadConfigFromProcess } from '../config/config.js';
import { SETTINGS } from '../features.js';

/**
 * Loads a program while V8's space for young objects does not grow. While modules load, it would grow by 25 MB, which
 * V8 does not give back.
 */
async function load<Program>(program: () => Promise<Program>): Promise<Program> {
  setFlagsFromString('--semi-space-growth-factor=1');
  const loaded = await program();
  // V8's default.
  setFlagsFromString('--semi-space-growth-factor=2');
  return loaded;
}

try {
  const config = loadConfigFromProcess(SETTINGS);
  if (config.workers === 1) await (await load(() => import('./single-process.js'))).start(config);
  else if (cluster.isPrimary) await new (await load(() => import('./primary.js'))).Primary(config).start();
  else await (await load(() => import('./worker.js'))).start(config, cluster.worker!);
} catch (error) {
  const { explainStartError } = await import('./start-error.js');
  console.error(explainStartError(error));
  process.exit(1);
}
