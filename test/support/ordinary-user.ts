import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';

/** Options of `spawn` for a user who may not write everywhere. As root it is another user, who needs no name. */
export const ORDINARY_USER = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};

/** Of the service and of its packages. */
const FILES = ['dist/src/main.js', 'node_modules/better-sqlite3-12/package.json'];

/** Whether that user may enter `TMPDIR` and run the built service. In root's home only root may. */
export function canRunAsOrdinaryUser(): boolean {
  const files = FILES.map((file) => resolve(file));
  return succeedsAsOrdinaryUser('cd "$1" && [ -x "$2" ] && shift 2 && cat "$@"', tmpdir(), process.execPath, ...files);
}

/** @param script of sh, which gets the arguments as `$1` and so on */
export function succeedsAsOrdinaryUser(script: string, ...args: string[]): boolean {
  return spawnSync('sh', ['-c', script, 'sh', ...args], { ...ORDINARY_USER, stdio: 'ignore' }).status === 0;
}
