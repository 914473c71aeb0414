import 'reflect-metadata';
import { loadConfigFromProcess } from './src/config/config.js';
import { createDataSource } from './src/database/data-source.js';
import { SETTINGS } from './src/features.js';

/** The data source for TypeORM's own command line: `npm run migration:generate`, `migration:run`, `migration:revert`. */
export default await createDataSource(loadConfigFromProcess(SETTINGS));
