import { Global, Logger, Module } from '@nestjs/common';
import { TypeOrmModule, type TypeOrmModuleOptions } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { Config } from '../config/config.js';
import { type Class, createDataSource } from './data-source.js';
import { engineOf } from './engine.js';
import { LiveConfig } from './polling/live-config.js';
import { PolledTables } from './polling/polled-tables.js';
import { migrate, rejectNewerSchema, requireMigrated, unreadableEntities } from './schema/migrations.js';

/** Provides the data source for `TypeOrmModule.forFeature([...])` and `@InjectRepository()`, and `LiveConfig`. */
@Global()
@Module({
  providers: [
    PolledTables,
    {
      provide: LiveConfig,
      inject: [Config, PolledTables],
      useFactory: (config: Config, polled: PolledTables) => LiveConfig.load(config, polled),
    },
  ],
  exports: [PolledTables, LiveConfig],
  imports: [
    TypeOrmModule.forRootAsync({
      inject: [Config],
      // Retries would not repair a wrong file, so the start fails immediately.
      useFactory: (config: Config) =>
        ({ config, autoLoadEntities: true, toRetry: () => false }) as TypeOrmModuleOptions,
      dataSourceFactory: async (options) => {
        const { config, entities } = options as unknown as { config: Config; entities: Class[] };
        return startDataSource(config, entities);
      },
    }),
  ],
})
export class DatabaseModule {}

async function startDataSource(config: Config, entities: Class[]): Promise<DataSource> {
  const dataSource = await createDataSource(config, entities);
  await dataSource.initialize();
  try {
    await rejectNewerSchema(dataSource);
    if (config.database.migrateOnStart) {
      const names = await migrate(dataSource);
      if (names.length > 0) new Logger('Database').log(`Ran the migrations ${names.join(', ')}`);
    } else await requireMigrated(dataSource);
    for (const problem of await unreadableEntities(dataSource)) new Logger('Database').warn(`At start, ${problem}`);
  } catch (error) {
    await dataSource.destroy();
    throw engineOf(dataSource).explain(error);
  }
  return dataSource;
}
