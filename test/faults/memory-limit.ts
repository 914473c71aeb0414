import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../src/config/config.js';
import type { SpawnOptions } from '../support/service-process.js';

const CGROUPS = '/sys/fs/cgroup';

/** What keeps a process within a memory, as a container would. */
export interface MemoryLimit {
  readonly how: string;
  readonly options: SpawnOptions;
  readonly environment: Environment;
  /** To be called when the process has ended. */
  remove(): void;
}

/** Of a process in a container: what the image sets for glibc. */
const IMAGE_ENVIRONMENT: Environment = {
  MALLOC_MMAP_THRESHOLD_: '65536',
  MALLOC_TRIM_THRESHOLD_: '131072',
  MALLOC_ARENA_MAX: '2',
};

/** The limit by a control group of the kernel where this user may make one, else of Node's heap alone. */
export function memoryLimit(megabytes: number): MemoryLimit {
  const bytes = String(megabytes * 1024 * 1024);
  const name = `cookies-${process.pid}-${Date.now()}`;
  return (
    controlGroup(join(CGROUPS, 'memory', name), 'memory.limit_in_bytes', bytes, `cgroup v1, ${megabytes} MB`) ??
    controlGroup(join(CGROUPS, name), 'memory.max', bytes, `cgroup v2, ${megabytes} MB`) ?? {
      how: `--max-old-space-size only; the memory of ${megabytes} MB is checked, not enforced`,
      options: {},
      environment: { NODE_OPTIONS: `--max-old-space-size=${Math.round(megabytes * 0.75)}` },
      remove: () => {},
    }
  );
}

function controlGroup(folder: string, setting: string, bytes: string, how: string): MemoryLimit | undefined {
  try {
    mkdirSync(folder);
  } catch {
    return undefined;
  }
  try {
    if (!existsSync(join(folder, setting))) throw new Error(`There is no ${setting}`);
    writeFileSync(join(folder, setting), bytes);
    if (readFileSync(join(folder, setting), 'utf8').trim() !== bytes) throw new Error(`${setting} does not hold`);
  } catch {
    rmdirSync(folder);
    return undefined;
  }
  // Inside before Node starts: it reads the limit then.
  const through = ['/bin/sh', '-c', 'echo $$ > "$0" && exec "$@"', join(folder, 'cgroup.procs')];
  return { how, options: { through }, environment: IMAGE_ENVIRONMENT, remove: () => removeGroup(folder) };
}

/** The kernel takes a moment to see that the group is empty; one that is left is empty, too, and costs nothing. */
function removeGroup(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
  }
}
