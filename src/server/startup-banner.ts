import { Logger } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { developmentSecretFile } from '../auth/token-key.js';
import type { Config } from '../config/config.js';
import { CLI, isImage } from '../config/program-names.js';
import { ManagementServer } from '../management/management-server.js';

/** Logs, once the service listens, what a newcomer needs to use it. */
export async function logStartupBanner(app: NestFastifyApplication, config: Config): Promise<void> {
  const logger = new Logger('Service');
  const api = (await app.getUrl()).replace('[::1]', '127.0.0.1');
  // Which ports of the host lead here, a container does not know.
  const where = isImage ? ' (in the container)' : '';
  logger.log(`Cookies:     ${api}/cookies${where}`);
  if (config.docs) logger.log(`Docs:        ${api}/docs (document: ${api}/openapi.json)`);
  logger.log(`Management:  ${app.get(ManagementServer, { strict: false }).url}/health/ready and /metrics${where}`);
  logger.log(`Database:    ${nameOf(config.database)} (room for ${config.cookiesCapacity} cookies)`);
  const { kind } = config.jwt.key;
  if (kind === 'public') return;
  if (kind === 'development') {
    logger.warn(
      `No token key is configured; this development start uses the secret in ${developmentSecretFile(config)}`,
    );
  }
  logger.log(`A token:     ${CLI} token --sub alice --scope "cookies:read cookies:write" --expires 1h${where}`);
}

function nameOf(database: Config['database']): string {
  if (database.engine === 'sqlite') return database.path;
  const hosts = database.hosts.map(({ host, port }) => `${host}:${port}`);
  return `${database.database} on PostgreSQL at ${hosts.join(', ')}`;
}
