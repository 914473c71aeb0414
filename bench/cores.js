import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import process from 'node:process';

/** Cores of this process: one for the program under test, one for the load. */
const [serverCore, loadCore] = allowedCores();

/** The reason why processes cannot be pinned to cores; `undefined` if they can. */
export const unpinned = reason();

const CORES = { server: serverCore, load: loadCore };

/** The command that runs node with these arguments on the core of its role: the program under test or the load. */
export function nodeOn(role, args) {
  if (unpinned !== undefined) return [process.execPath, args];
  return ['taskset', ['--cpu-list', String(CORES[role]), process.execPath, ...args]];
}

/** Moves this process away from the core of the program under test. */
export function stayOnLoadCore() {
  if (unpinned === undefined) spawnSync('taskset', ['--cpu-list', '--pid', String(loadCore), String(process.pid)]);
}

function allowedCores() {
  try {
    const [, list] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'));
    return list.split(',').flatMap((range) => {
      const [first, last = first] = range.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    });
  } catch {
    return [];
  }
}

function reason() {
  if (loadCore === undefined) return 'there are not two cores';
  if (spawnSync('taskset', ['--version']).status !== 0) return 'taskset is not installed';
  return undefined;
}
