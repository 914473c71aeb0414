import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApp } from '../app.js';
import type { Config } from '../config/config.js';

/**
 * Builds the application, which may wait for a lock or a server. SIGTERM ends the process meanwhile: Node does so itself,
 * except as process 1 of a container, and if an agent that was loaded before (`--import`) listens.
 */
export async function startApp(config: Config): Promise<NestFastifyApplication> {
  const exit = (): never => process.exit(143);
  if (process.pid === 1 || process.listenerCount('SIGTERM') > 0) process.on('SIGTERM', exit);
  const app = await createApp(config);
  process.off('SIGTERM', exit);
  return app;
}
