import 'reflect-metadata';
import { prepareResources } from './src/cli/migrate.js';
import { loadConfigFromProcess } from './src/config/config.js';
import { createDataSource } from './src/database/data-source.js';
import { SETTINGS } from './src/features.js';

/**
 * The data source for TypeORM's own command line: `npm run migration:generate`, `migration:run`, `migration:revert`.
 * After migrations it makes the triggers that the start of the service would make.
 */
const config = loadConfigFromProcess(SETTINGS);
const dataSource = await createDataSource(config);
const runMigrations = dataSource.runMigrations.bind(dataSource);
dataSource.runMigrations = async (options) => {
  const done = await runMigrations(options);
  if (done.length > 0) await prepareResources(dataSource, config);
  return done;
};

export default dataSource;
