import { Command } from 'commander';
import { RESOURCES } from '../../features.js';
import { examples } from './examples.js';
import type { MigrateOptions } from '../migrate.js';

export function migrateCommand(): Command {
  const variables = RESOURCES.map(({ capacity }) => capacity.name).join(' or ');
  return new Command('migrate')
    .description(
      'run the pending migrations, as the start does unless MIGRATE_ON_START is false; logs as the service does',
    )
    .option('--check-capacity', `change nothing, and fail, where more is stored than ${variables} allows`)
    .addHelpText('after', examples('migrate'))
    .action(async (options: MigrateOptions) => {
      const { runMigrations } = await import('../migrate.js');
      await runMigrations(options);
    });
}
