import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Environment, loadConfig } from '../../../src/config/config.js';
import { createDataSource } from '../../../src/database/data-source.js';
import { SETTINGS } from '../../../src/features.js';
import { environmentIn, temporaryFolder } from '../service.js';

const ROOT = process.cwd();

/** Unpacks the program of the last release into a new folder. */
export async function unpackRelease(): Promise<string> {
  const folder = temporaryFolder();
  // The script is not compiled, so a relative path to it would be wrong in `dist`.
  const script = pathToFileURL(join(ROOT, 'scripts/released-program.js')).href;
  const { unpackProgram } = (await import(script)) as typeof import('../../../scripts/released-program.js');
  unpackProgram(folder);
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** Reverts `count` migrations of this version, the newest first, as the command in docs/operating.md does. */
export async function revertMigrations(folder: string, environment: Environment, count: number): Promise<void> {
  const config = loadConfig(environmentIn(folder, environment), SETTINGS);
  const dataSource = await (await createDataSource(config)).initialize();
  try {
    for (let left = count; left > 0; left--) await dataSource.undoLastMigration();
  } finally {
    await dataSource.destroy();
  }
}
