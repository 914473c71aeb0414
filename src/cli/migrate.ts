import { Logger } from '@nestjs/common';
import { Command } from 'commander';
import { loadConfigFromProcess } from '../config/config.js';
import { createDataSource } from '../database/data-source.js';
import { engineOf } from '../database/engine.js';
import { migrate, unknownMigrations } from '../database/migrations.js';
import { createLogger, NestLogger } from '../logger.js';
import { Failure } from './errors.js';
import { examples } from './examples.js';

export function migrateCommand(): Command {
  return new Command('migrate')
    .description(
      'run the pending migrations, as the start does unless MIGRATE_ON_START is false; logs as the service does',
    )
    .addHelpText('after', examples('migrate'))
    .action(runMigrations);
}

async function runMigrations(): Promise<void> {
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
