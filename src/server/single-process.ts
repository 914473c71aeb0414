import { createApp } from '../app.js';
import type { Config } from '../config/config.js';
import { ManagementServer } from '../management/management-server.js';
import { shutDownOnSignals } from './graceful-shutdown.js';
import { listen } from './listen.js';
import { logStartupBanner } from './startup-banner.js';

/** Serves in this process, without workers, until a signal stops it. */
export async function start(config: Config): Promise<void> {
  const app = await createApp(config);
  shutDownOnSignals(app, config);
  await listen(app, config);
  await logStartupBanner(app, config, app.get(ManagementServer, { strict: false }).url);
}
