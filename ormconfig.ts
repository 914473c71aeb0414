import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { loadConfigFromProcess } from './src/config/config.js';
import { createDataSource } from './src/database/data-source.js';
import { SETTINGS } from './src/features.js';

// TypeORM tells its steps at level debug.
Logger.overrideLogger(['fatal', 'error', 'warn', 'log']);

/** The data source for TypeORM's own command line: `npm run migration:generate`, `migration:run`, `migration:revert`. */
export default await createDataSource(loadConfigFromProcess(SETTINGS));
