import { existsSync } from 'node:fs';

/** The scripts of npm, which a checkout has and the image has not; from `dist/src/config` or from `src/config`. */
const SCRIPTS = ['../../../scripts/cli.js', '../../scripts/cli.js'];

/** Whether this is the image, which has the built program alone. */
export const isImage = !SCRIPTS.some((path) => existsSync(new URL(path, import.meta.url)));

/** How the command line is called here, for messages that name a command. */
export const CLI = isImage ? 'cli' : 'npm run --silent cli --';

/** How pending migrations are run here. */
export const MIGRATE = isImage ? 'cli migrate' : 'npm run migration:run';

/** How the last migration is reverted here. */
export const REVERT = isImage
  ? 'node node_modules/typeorm/cli.js migration:revert -d dist/ormconfig.js'
  : 'npm run migration:revert';
