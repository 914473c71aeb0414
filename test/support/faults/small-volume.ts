import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../service.js';

/** Bytes. */
const SIZE = 320 * 1024;

/** A volume in memory that is soon full. */
export class SmallVolume {
  /** Whether this user may mount one. */
  static readonly mountable = mayMount();

  private constructor(readonly folder: string) {}

  static async use<T>(work: (volume: SmallVolume) => Promise<T>): Promise<T> {
    const folder = temporaryFolder();
    const leave = (): void => unmount(folder);
    try {
      mount(folder);
      process.once('exit', leave);
      try {
        return await work(new SmallVolume(folder));
      } finally {
        process.off('exit', leave);
        leave();
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  /** Takes all the space that is left, or as many bytes of it: whole pages of 4096. */
  occupy(bytes = SIZE): void {
    const descriptor = openSync(this.ballast, 'a');
    try {
      for (let written = 0; written < bytes;) written += writeSync(descriptor, Buffer.alloc(4096, 'x'));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      closeSync(descriptor);
    }
  }

  giveBack(): void {
    rmSync(this.ballast);
  }

  private get ballast(): string {
    return join(this.folder, 'ballast');
  }
}

/** Unmounts what a process that was killed has left mounted below a folder. */
export function unmountBelow(folder: string): void {
  if (!existsSync('/proc/mounts')) return;
  const points = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    // A blank is \040 there.
    .map((path) => path.replaceAll(/\\([0-7]{3})/g, (_all, octal: string) => String.fromCharCode(parseInt(octal, 8))));
  for (const point of points.filter((path) => path.startsWith(`${folder}/`))) unmount(point);
}

function mayMount(): boolean {
  const folder = temporaryFolder();
  try {
    mount(folder);
    unmount(folder);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function mount(folder: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE}`, 'tmpfs', folder], { stdio: 'ignore' });
}

function unmount(folder: string): void {
  execFileSync('umount', ['-l', folder], { stdio: 'ignore' });
}
