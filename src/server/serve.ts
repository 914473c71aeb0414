import cluster from 'node:cluster';
import { setFlagsFromString } from 'node:v8';
import { loadConfigFromProcess } from '../config/config.js';
import { SETTINGS } from '../features.js';

const load = (workers: number) => {
  if (workers === 1) return import('./single-process.js');
  return cluster.isPrimary ? import('./primary.js') : import('./worker.js');
};

try {
  const config = loadConfigFromProcess(SETTINGS);
  const { start } = await load(config.workers);
  // Now the young generation may grow again; see `main.ts`.
  setFlagsFromString('--semi-space-growth-factor=2');
  await start(config);
} catch (error) {
  if ((error as NodeJS.ErrnoException).code === 'EMFILE') {
    // The module that explains errors could not be loaded either.
    console.error('The service cannot start: it may open too few files. Raise the limit (`ulimit -n`) to 1024.');
    process.exit(1);
  }
  const { explainStartError } = await import('./start-error.js');
  console.error(explainStartError(error));
  process.exit(1);
}
