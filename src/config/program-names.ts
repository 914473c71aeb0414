import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolder } from './service-version.js';

/** Whether this is the image, which has the built program alone, without the scripts of npm. */
export const isImage = !existsSync(join(projectFolder(), 'scripts/cli.js'));

/** How the command line is called here, for messages that name a command. */
export const CLI = isImage ? 'cli' : 'npm run --silent cli --';

/** How pending migrations are run here. */
export const MIGRATE = isImage ? 'cli migrate' : 'npm run migration:run';

/** How the last migration is reverted here. */
export const REVERT = isImage
  ? 'node node_modules/typeorm/cli.js migration:revert -d dist/ormconfig.js'
  : 'npm run migration:revert';
