import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export function serviceVersion(): string {
  return (JSON.parse(readFileSync(join(projectFolder(), 'package.json'), 'utf8')) as { version: string }).version;
}

/** The folder of `package.json`, above `src` and `dist`. */
function projectFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json')) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}

/** Tells whether the service runs in its image, which has no npm scripts. */
export const isImage = !existsSync(join(projectFolder(), 'scripts/cli.js'));

/** The command line in messages that name a command. */
export const CLI = isImage ? 'cli' : 'npm run --silent cli --';

export const MIGRATE = isImage ? 'cli migrate' : 'npm run migration:run';

export const REVERT = isImage
  ? 'node node_modules/typeorm/cli.js migration:revert -d dist/ormconfig.js'
  : 'npm run migration:revert';
