import { join } from 'node:path/posix';
import { Logger } from '@nestjs/common';
import { ApplicationConfig } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { developmentSecretFile, signsTokens } from '../auth/token-key.js';
import type { Config } from '../config/config.js';
import type { DatabaseUrl } from '../config/parse.js';
import { CLI, isImage } from '../config/program-names.js';
import { describeStored, LiveConfig } from '../database/polling/live-config.js';
import { ReportedResources } from '../management/reported-resources.js';

/** Logs the addresses, the database and a command for a first token, when the service listens. */
export async function logStartupBanner(app: NestFastifyApplication, config: Config, managementUrl: string) {
  // A signal may have closed the port meanwhile.
  if (!app.getHttpServer().listening) return;
  const logger = new Logger('Service');
  const api = await app.getUrl();
  // A container does not know the ports of its host.
  const where = isImage ? ' (in the container)' : '';
  const resources = app.get(ReportedResources, { strict: false }).all;
  const capacities = resources.map(({ text, capacity }) => `${text} ${capacity}`);
  const scopes = resources.flatMap(({ resource }) => [`${resource}:read`, `${resource}:write`]);
  if (config.adminPage) scopes.push('admin:read');
  const prefix = app.get(ApplicationConfig, { strict: false }).getGlobalPrefix();
  for (const { resource, text } of resources) {
    logger.log(`${labelOf(text)} ${api}${join('/', prefix, resource)}${where}`);
  }
  if (config.servesDocs) logger.log(`Docs:        ${api}/docs (document: ${api}/openapi.json)`);
  if (config.adminPage) logger.log(`Admin page:  ${api}/admin${where}`);
  logger.log(`Management:  ${managementUrl}/health/ready and /metrics${where}`);
  logger.log(`Database:    ${nameOf(config.database.url)} (capacity: ${capacities.join(', ')})`);
  const { stored } = app.get(LiveConfig, { strict: false });
  for (const row of stored) logger.log(`In force:    ${describeStored(row)} (${CLI} set)`);
  if (!signsTokens(config)) return;
  if (config.jwt.secret === undefined) {
    logger.warn(
      `No token key is configured; this development start uses the secret in ${developmentSecretFile(config)}`,
    );
  }
  logger.log(`A token:     ${CLI} token --sub alice --scope "${scopes.join(' ')}" --expires 1h${where}`);
}

/** A label padded to the width of the other lines, such as `Gift cards: `. */
const labelOf = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}:`.padEnd(12);

function nameOf(url: DatabaseUrl): string {
  if (url.engine === 'sqlite') return url.path;
  const hosts = url.hosts.map(({ host, port }) => `${host}:${port}`);
  return `${url.database} on PostgreSQL at ${hosts.join(', ')}`;
}
