import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { Config } from '../../config/config.js';
import { PLATFORM_SETTINGS } from '../../config/platform-settings.js';
import { createDataSource } from '../../database/data-source.js';
import { inForce, storedSettings } from '../../database/polling/live-config.js';
import { migrate, pendingMigrations, rejectNewerSchema, requireMigrated } from '../../database/schema/migrations.js';
import type { Resource } from '../../resource/resource.js';
import type { AnyResourceEntity } from '../../resource/resource-entity.js';
import { ResourceRepository } from '../../resource/store/resource-repository.js';
import { prepareStorage, storedCapacity } from '../../resource/usage/storage-row.js';
import { UsageCounter } from '../../resource/usage/usage-counter.js';
import { requireDatabase } from '../sqlite-file/database-path.js';

/** Milliseconds; an atomic import is one long transaction. */
const TRANSACTION_TIMEOUT = 24 * 3600 * 1000;

/** The repository of a resource for a command. `await using` closes its database. */
export type OpenRepository = ResourceRepository<AnyResourceEntity> & AsyncDisposable;

/** Opens the configured database without migrations. It throws a `DatabaseStartError` when it cannot be used. */
export async function openDataSource(config: Config): Promise<DataSource & AsyncDisposable> {
  // The log would mix with the output of the command on stdout; errors are thrown as well.
  Logger.overrideLogger(false);
  const dataSource = await (await createDataSource(config)).initialize();
  return Object.assign(dataSource, { [Symbol.asyncDispose]: () => dataSource.destroy() });
}

/** Opens the database and the repository of a resource, as the service does; see `openConfiguredDatabase`. */
export async function openRepository(config: Config, resource: Resource, mayMigrate = false): Promise<OpenRepository> {
  const dataSource = await openConfiguredDatabase(config, mayMigrate);
  const capacity = await capacityFor(dataSource, config, resource);
  const counter = new UsageCounter(resource.name.plural, capacity, resource.audited);
  if (mayMigrate) await prepareStorage(dataSource, counter);
  const repository = dataSource.getRepository<AnyResourceEntity>(await resource.entity());
  const store = new ResourceRepository(resource.name, repository, counter, undefined, await resource.rule?.());
  return Object.assign(store, { [Symbol.asyncDispose]: () => dataSource.destroy() });
}

/**
 * Opens the configured database; a service may use it at the same time.
 * @param mayMigrate creates a missing database and runs pending migrations, as the start of the service does
 * @throws {DatabaseStartError} when it cannot be used, or its schema is not that of this version
 */
export async function openConfiguredDatabase(
  config: Config,
  mayMigrate = false,
): Promise<DataSource & AsyncDisposable> {
  if (!mayMigrate) requireDatabase(config);
  const { transactionTimeout } = PLATFORM_SETTINGS.database;
  const dataSource = await openDataSource(config.with(transactionTimeout, TRANSACTION_TIMEOUT));
  try {
    await rejectNewerSchema(dataSource);
    if (mayMigrate && config.database.migrateOnStart) await migrate(dataSource);
    await requireMigrated(dataSource);
  } catch (error) {
    await dataSource.destroy();
    throw error;
  }
  return dataSource;
}

/**
 * The capacity that a command uses. Without a variable or `cli set` it keeps the stored capacity, because a shell may
 * lack the variables of the service.
 */
export async function capacityFor(dataSource: DataSource, config: Config, resource: Resource): Promise<number> {
  const current = await configInForce(dataSource, config);
  const capacity = current.get(resource.capacity);
  if (current.isSet(resource.capacity)) return capacity;
  return (await storedCapacity(dataSource, resource.name.plural)) ?? capacity;
}

/** The configuration with the values of `cli set`, if the database has their table. */
export async function configInForce(dataSource: DataSource, config: Config): Promise<Config> {
  const pending = await pendingMigrations(dataSource);
  if (pending.some((name) => name.startsWith('CreateLiveSettings'))) return config;
  return inForce(config, await storedSettings(dataSource)).config;
}
