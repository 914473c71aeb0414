import { execFile } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Environment } from '../../../src/config/config.js';
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

/** Reverts `count` migrations of this version, the newest first, as docs/operating.md says. */
export async function revertMigrations(folder: string, environment: Environment, count: number): Promise<void> {
  const revert = ['node_modules/typeorm/cli.js', 'migration:revert', '-d', 'dist/ormconfig.js'];
  const env = { PATH: process.env['PATH'], ...environmentIn(folder, environment) };
  for (let left = count; left > 0; left--) await promisify(execFile)(process.execPath, revert, { cwd: ROOT, env });
}
