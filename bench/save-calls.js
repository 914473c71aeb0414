import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { nodeOn } from './cores.js';

/** `repository.save()` on TypeORM's own driver and on the service's, in a process of their own (save.js). */
export async function saveCalls(stage, { rounds, seconds }) {
  const folder = join(stage.folder, 'save');
  mkdirSync(folder);
  stage.progress(`save: ${rounds} rounds of ${seconds} s each`);
  const [command, args] = nodeOn('server', [
    join(import.meta.dirname, 'save.js'),
    JSON.stringify({ folder, rounds, seconds }),
  ]);
  return JSON.parse((await promisify(execFile)(command, args)).stdout);
}
