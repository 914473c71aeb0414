import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../src/config/config.js';
import type { SpawnOptions } from '../support/service-process.js';

const CGROUPS = '/sys/fs/cgroup';

export interface MemoryLimit {
  readonly options: SpawnOptions;
  readonly environment: Environment;
  /** Call it when the process has ended. */
  remove(): void;
}

/** The image's environment for glibc. */
const IMAGE_ENVIRONMENT: Environment = {
  MALLOC_MMAP_THRESHOLD_: '65536',
  MALLOC_TRIM_THRESHOLD_: '131072',
  MALLOC_ARENA_MAX: '2',
};

/** Limits memory by a control group of the kernel if this user may make one, otherwise by Node's heap limit. */
export function memoryLimit(megabytes: number): MemoryLimit {
  const bytes = String(megabytes * 1024 * 1024);
  const name = `cookies-${process.pid}-${Date.now()}`;
  return (
    controlGroup(join(CGROUPS, 'memory', name), 'memory.limit_in_bytes', bytes) ??
    controlGroup(join(CGROUPS, name), 'memory.max', bytes) ?? {
      options: {},
      environment: { NODE_OPTIONS: `--max-old-space-size=${Math.round(megabytes * 0.75)}` },
      remove: () => {},
    }
  );
}

function controlGroup(folder: string, setting: string, bytes: string): MemoryLimit | undefined {
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
  // Joins the group before Node starts, because Node reads the limit then.
  const through = ['/bin/sh', '-c', 'echo $$ > "$0" && exec "$@"', join(folder, 'cgroup.procs')];
  return { options: { through }, environment: IMAGE_ENVIRONMENT, remove: () => removeGroup(folder) };
}

/** The kernel needs a moment to notice that the group is empty. A group that is left costs nothing. */
function removeGroup(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
  }
}
