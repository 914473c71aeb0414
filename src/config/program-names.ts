import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolder } from './service-version.js';

/** Tells whether the service runs in its image, which has no npm scripts. */
export const isImage = !existsSync(join(projectFolder(), 'scripts/cli.js'));

/** The command line in messages that name a command. */
export const CLI = isImage ? 'cli' : 'npm run --silent cli --';

export const MIGRATE = isImage ? 'cli migrate' : 'npm run migration:run';

export const REVERT = isImage
  ? 'node node_modules/typeorm/cli.js migration:revert -d dist/ormconfig.js'
  : 'npm run migration:revert';
