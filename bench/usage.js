import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Processor time of a process in seconds; `undefined` if the system does not report it. */
export function processorTime(pid) {
  return timeOfThreads(pid) ?? timeInTicks(pid);
}

/** Processor time in nanoseconds, if the kernel keeps scheduler statistics. Threads that have ended are not counted. */
function timeOfThreads(pid) {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const times = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
    const sum = times.reduce((total, time) => total + Number(time), 0);
    return sum > 0 ? sum / 1e9 : undefined;
  } catch {
    return undefined;
  }
}

function timeInTicks(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // utime and stime are fields 14 and 15. The name, field 2, may contain spaces.
    const [utime, stime] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13);
    return (Number(utime) + Number(stime)) / ticksPerSecond();
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

let ticks;
function ticksPerSecond() {
  ticks ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
  return ticks;
}
