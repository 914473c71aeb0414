import { readdirSync, readFileSync } from 'node:fs';

/**
 * Processor time of a process in seconds, from the scheduler statistics of Linux; `undefined` if there are none.
 * Threads that have ended are not counted.
 */
export function processorTime(pid) {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const times = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
    const sum = times.reduce((total, time) => total + Number(time), 0);
    return sum > 0 ? sum / 1e9 : undefined;
  } catch {
    return undefined;
  }
}

/** Memory in MB that a process does not share; `undefined` if the system does not report it. */
export function privateMemory(pid) {
  try {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    const sizes = [...rollup.matchAll(/^Private_(?:Clean|Dirty):\s*(\d+) kB$/gm)].map(([, size]) => Number(size));
    return sizes.reduce((sum, size) => sum + size, 0) / 1024;
  } catch {
    return undefined;
  }
}
