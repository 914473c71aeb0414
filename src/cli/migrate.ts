import { Logger } from '@nestjs/common';
import { type DataSource, MigrationExecutor } from 'typeorm';
import { type Config, loadConfigFromProcess } from '../config/config.js';
import { CLI } from '../config/program-names.js';
import { createDataSource } from '../database/data-source.js';
import { committed, engineOf } from '../database/engine.js';
import { migrate, rejectNewerSchema } from '../database/schema/migrations.js';
import { RESOURCES, SETTINGS } from '../features.js';
import { createLog, NestLogger } from '../logging/logger.js';
import { prepareStorage } from '../resource/usage/storage-row.js';
import { Failure } from './command-errors.js';
import { capacityFor, configInForce } from './resources/open-storage.js';

export async function runMigrations({ checkCapacity }: { checkCapacity?: true }): Promise<void> {
  const config = loadConfigFromProcess(SETTINGS);
  // This command writes to the log of the service.
  Logger.overrideLogger(new NestLogger(createLog(config)));
  const logger = new Logger('Database');
  const dataSource = await (await createDataSource(config)).initialize();
  try {
    await rejectNewerSchema(dataSource);
    if (checkCapacity) await requireCapacity(dataSource, config);
    const names = await migrate(dataSource);
    await prepareResources(dataSource, config);
    logger.log(names.length > 0 ? `Ran the migrations ${names.join(', ')}` : 'No migration is pending');
  } catch (error) {
    const reason = engineOf(dataSource).explain(error) as Error;
    logger.error(reason.message);
    throw reason;
  } finally {
    await dataSource.destroy();
  }
}

/** Makes missing triggers. The service makes them at its start only if its database role owns the tables. */
export async function prepareResources(dataSource: DataSource, config: Config): Promise<void> {
  for (const resource of RESOURCES) {
    const { name, audited = false } = resource;
    const capacity = await capacityFor(dataSource, config, resource);
    await prepareStorage(dataSource, { resource: name.plural, capacity, audited });
  }
}

/** @throws {Failure} if a resource has more records than its capacity */
async function requireCapacity(dataSource: DataSource, config: Config): Promise<void> {
  const executed = await new MigrationExecutor(dataSource).getExecutedMigrations();
  // An empty database has no table of migrations.
  if (executed.length === 0) return;
  const rows = await committed(dataSource).sql<
    { resource: string; used: number }[]
  >`SELECT resource, used FROM storage`;
  const used = new Map(rows.map((row) => [row.resource, row.used]));
  const current = await configInForce(dataSource, config);
  const problems = RESOURCES.flatMap(({ name, capacity }) => {
    const [allowed, stored] = [current.get(capacity), used.get(name.plural) ?? 0];
    if (stored <= allowed) return [];
    const remedy =
      allowed === config.get(capacity)
        ? `Set it for all replicas, in the file .env beside the compose file (${capacity.name}=...), to at least the value of the running replicas.`
        : `That is the value of cli set: run ${CLI} set ${capacity.name}=..., or ${CLI} set --unset ${capacity.name}.`;
    const problem = `${capacity.name} is ${allowed}, and ${stored} ${name.pluralText} are stored`;
    return [`${problem}: every POST would be rejected with 507. ${remedy}`];
  });
  if (problems.length > 0) throw new Failure([...problems, 'Nothing was changed.'].join(' '));
}
