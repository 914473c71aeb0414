import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import process from 'node:process';

/** Two cores that this process may use: one for the program under test, one for the load. */
const [serverCore, loadCore] = allowedCores();

/** Why nothing can be pinned; `undefined` when it can. */
export const unpinned = reason();

/** The command that runs node with these arguments, on the core of the program under test or of the load. */
export function nodeOn(role, args) {
  if (unpinned !== undefined) return [process.execPath, args];
  const core = role === 'server' ? serverCore : loadCore;
  return ['taskset', ['--cpu-list', String(core), process.execPath, ...args]];
}

/** Seconds of processor time that a process has used so far; `undefined` where the system does not tell. */
export function processorTime(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // utime and stime are fields 14 and 15; the name, field 2, may itself have spaces.
    const [utime, stime] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13);
    return (Number(utime) + Number(stime)) / ticksPerSecond();
  } catch {
    return undefined;
  }
}

let ticks;
function ticksPerSecond() {
  ticks ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
  return ticks;
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
  if (loadCore === undefined) return 'there are no two cores to choose from';
  if (spawnSync('taskset', ['--version']).status !== 0) return 'taskset is not installed';
  return undefined;
}
