import { createApp } from '../app.js';
import { Config, ConfigError, loadConfigFromProcess } from '../config/config.js';
import { SETTINGS } from '../features.js';
import { logStartupBanner } from './startup-banner.js';
import { DatabaseStartError } from '../database/errors.js';
import { fileProblem } from '../config/file-problem.js';
import { RouteError } from '../http/validation/route-check.js';
import { collectWhenCalm } from './idle-collection.js';
import { shutDownOnSignals } from './graceful-shutdown.js';
import { tuneYoungGeneration } from './young-generation.js';

/** Failures that their message explains to an operator; the stack would only bury it. */
const EXPLAINED = [ConfigError, DatabaseStartError, RouteError];

async function start(config: Config): Promise<void> {
  const app = await createApp(config);
  shutDownOnSignals(app, config);
  await app.listen({ host: config.host, port: config.port });
  await logStartupBanner(app, config);
  collectWhenCalm();
  tuneYoungGeneration();
}

try {
  await start(loadConfigFromProcess(SETTINGS));
} catch (error) {
  const { syscall, path } = error as NodeJS.ErrnoException;
  if (EXPLAINED.some((type) => error instanceof type)) console.error((error as Error).message);
  else if (syscall === 'listen' || syscall === 'bind') {
    console.error(
      `The service cannot listen: ${(error as Error).message}. Set PORT, MANAGEMENT_PORT or HOST otherwise.`,
    );
  } else if (path !== undefined) console.error(`The service cannot start: ${fileProblem(path, error)}.`);
  else console.error(error);
  process.exit(1);
}
