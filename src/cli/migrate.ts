import { type DataSource, MigrationExecutor } from 'typeorm';
import { loadConfigFromProcess } from '../config/config.js';
import { createDataSource } from '../database/data-source.js';
import { engineOf } from '../database/engine.js';
import { migrate, unknownMigrations } from '../database/schema/migrations.js';
import { createLogger, NestLogger } from '../logging/logger.js';
import { Logger } from '../logging/nest-logger.js';
import { committed } from '../database/transactions.js';
import { Failure } from './errors.js';

export interface MigrateOptions {
  readonly checkCapacity?: true;
}

export async function runMigrations({ checkCapacity }: MigrateOptions): Promise<void> {
  const config = loadConfigFromProcess();
  // Unlike what other commands print, this is read where the log of the service is.
  Logger.overrideLogger(new NestLogger(createLogger(config)));
  const logger = new Logger('Database');
  const dataSource = await (await createDataSource(config)).initialize();
  try {
    const newer = await unknownMigrations(dataSource);
    if (newer.length > 0) {
      throw new Failure(`The database has the migrations ${newer.join(', ')} of a newer version. Use that version.`);
    }
    if (checkCapacity) await requireCapacity(dataSource, config.cookiesCapacity);
    const names = await migrate(dataSource);
    logger.log(names.length > 0 ? `Ran the migrations ${names.join(', ')}` : 'No migration is pending');
  } catch (error) {
    const reason = engineOf(dataSource).explain(error) as Error;
    logger.error(reason.message);
    throw reason;
  } finally {
    await dataSource.destroy();
  }
}

/** @throws {Failure} */
async function requireCapacity(dataSource: DataSource, capacity: number): Promise<void> {
  const executed = await new MigrationExecutor(dataSource).getExecutedMigrations();
  // Before the first migration there is nothing to look at.
  if (executed.length === 0) return;
  const rows = await committed(dataSource).sql<{ used: number }[]>`SELECT used FROM storage WHERE resource = 'cookies'`;
  const used = Number(rows[0]?.used ?? 0);
  if (used <= capacity) return;
  throw new Failure(
    `COOKIES_CAPACITY is ${capacity}, and ${used} cookies are stored: every POST would be rejected with 507. Set it for all ` +
      'replicas, in the file .env beside the compose file (COOKIES_CAPACITY=...), to what the running ones have or more. ' +
      'Nothing was changed.',
  );
}
