import { loadConfigFromProcess } from '../config/config.js';
import { SETTINGS } from '../features.js';

try {
  const config = loadConfigFromProcess(SETTINGS);
  // What supervises workers loads nothing of the application, and what serves alone nothing of workers.
  const { start } = config.workers === 1 ? await import('./single-process.js') : await import('./workers/start.js');
  await start(config);
} catch (error) {
  const { explainStartError } = await import('./start-error.js');
  console.error(explainStartError(error));
  process.exit(1);
}
