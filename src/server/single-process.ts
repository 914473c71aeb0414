import type { Config } from '../config/config.js';
import { ManagementServer } from '../management/management-server.js';
import { shutDownOnSignals } from './graceful-shutdown.js';
import { startApp } from './start-app.js';
import { logStartupBanner } from './startup-banner.js';

/** The first descriptor that systemd passes (sd_listen_fds(3)). */
const SYSTEMD_SOCKET = 3;

/** Serves in this process, without workers, until a signal stops it. */
export async function start(config: Config): Promise<void> {
  const app = await startApp(config);
  shutDownOnSignals(app, config);
  const { host, port } = config;
  // eslint-disable-next-line no-restricted-syntax -- not a setting: systemd writes it for each process
  const hasSocket = process.env['LISTEN_PID'] === String(process.pid);
  await app.listen({ host, port, ...(hasSocket && { fd: SYSTEMD_SOCKET }) });
  await logStartupBanner(app, config, app.get(ManagementServer, { strict: false }).url);
}
