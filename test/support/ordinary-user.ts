import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';

/** Options of `spawn` for a user who may not write everywhere; root becomes another user. */
export const ORDINARY_USER = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};

/** Files of the service and of its packages. */
const FILES = ['dist/src/main.js', 'node_modules/better-sqlite3-12/package.json'];

/** Whether an ordinary user may enter `TMPDIR` and run the built service. Only root may enter root's home. */
export function canRunAsOrdinaryUser(): boolean {
  const files = FILES.map((file) => resolve(file));
  return succeedsAsOrdinaryUser('cd "$1" && [ -x "$2" ] && shift 2 && cat "$@"', tmpdir(), process.execPath, ...files);
}

/** @param script of sh with the arguments `$1`, ... */
export function succeedsAsOrdinaryUser(script: string, ...args: string[]): boolean {
  return spawnSync('sh', ['-c', script, 'sh', ...args], { ...ORDINARY_USER, stdio: 'ignore' }).status === 0;
}
