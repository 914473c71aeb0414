import { rmSync } from 'node:fs';
import { Logger } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import type { MigrationInterface } from 'typeorm';
import { createApp } from '../../src/app.js';
import { AppModule } from '../../src/app.module.js';
import { type Config, loadConfig } from '../../src/config/config.js';
import { createDataSource } from '../../src/database/data-source.js';
import { migrate } from '../../src/database/schema/migrations.js';
import { SETTINGS } from '../../src/features.js';
import { ManagementServer } from '../../src/management/management-server.js';
import { provideDatabase } from './engine.js';
import { environmentIn, type Service, type StartArguments, temporaryFolder } from './service.js';

/** Does the work of `startService`. This file alone imports the application. */
export async function startInProcess(
  ...[environment, modules = [], migrations = [], override = (module) => module, configure]: StartArguments
): Promise<Service> {
  // Until the application has its own logger, Nest's would write to stdout.
  Logger.overrideLogger(false);
  const folder = temporaryFolder();
  await provideDatabase(folder);
  // An unexpected 500 logs its cause. Tests of errors set `silent` or capture the log.
  const config = loadConfig(environmentIn(folder, { LOG_LEVEL: 'error', ...environment }), SETTINGS);
  if (migrations.length > 0) await runMigrations(config, migrations);
  const builder = Test.createTestingModule({ imports: [AppModule.forRoot(config), ...modules] });
  const module = await override(builder, config).compile();
  const app = await createApp(config, (adapter, options) => module.createNestApplication(adapter, options));
  // Tests name the paths without a prefix that `createApp` sets.
  app.setGlobalPrefix('');
  await configure?.(app);
  await app.listen({ host: config.host, port: config.port });
  const stop = async (): Promise<void> => {
    // First, because it writes to the database.
    await app.close();
    rmSync(folder, { recursive: true, force: true });
  };
  const { url: managementUrl } = app.get(ManagementServer, { strict: false });
  return { app, url: await app.getUrl(), managementUrl, folder, stop, [Symbol.asyncDispose]: stop };
}

/** Runs the migrations of the service and the given ones, as from one folder. */
async function runMigrations(config: Config, migrations: readonly MigrationInterface[]): Promise<void> {
  const dataSource = await (await createDataSource(config)).initialize();
  try {
    await migrate(dataSource);
    const runner = dataSource.createQueryRunner();
    try {
      await runner.beforeMigration();
      await runner.startTransaction();
      for (const migration of migrations) await migration.up(runner);
      await runner.afterMigration();
      await runner.commitTransaction();
    } finally {
      await runner.release();
    }
  } finally {
    await dataSource.destroy();
  }
}
