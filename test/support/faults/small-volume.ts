import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../service.js';

/** Size in bytes: room for the tables of some resources, and for hundreds of records. */
const SIZE = 512 * 1024;

/** Occupies all free space, and reports when it first finds none. */
const SEIZING = `
  const { openSync, writeSync } = require('node:fs');
  const page = Buffer.alloc(4096, 'x');
  const ballast = openSync(process.argv[1], 'a');
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let full = 0; ;) {
    try {
      writeSync(ballast, page);
    } catch {
      if (full++ === 0) writeSync(1, 'full');
      Atomics.wait(pause, 0, 0, 0.1);
    }
  }`;

/** A small volume in memory. `using` unmounts it at the end of a block. */
export class SmallVolume implements Disposable {
  /** Whether this user may mount a volume. */
  static readonly mountable = mayMount();

  private readonly leave = (): void => unmount(this.folder);

  constructor(
    size = SIZE,
    readonly folder = temporaryFolder(),
  ) {
    mount(folder, size);
    process.once('exit', this.leave);
  }

  [Symbol.dispose](): void {
    process.off('exit', this.leave);
    this.leave();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Occupies the remaining space, or this many bytes of it in pages of 4096. */
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

  /** Runs `work` while another process occupies each byte that becomes free, and keeps these bytes until `giveBack`. */
  async whileSeized(work: () => Promise<void>): Promise<void> {
    const other = spawn(process.execPath, ['-e', SEIZING, this.ballast], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      await once(other.stdout, 'data');
      await work();
    } finally {
      other.kill('SIGKILL');
      await once(other, 'close');
    }
  }

  giveBack(): void {
    rmSync(this.ballast);
  }

  private get ballast(): string {
    return join(this.folder, 'ballast');
  }
}

/** Unmounts volumes below a folder that a killed process has left. */
export function unmountBelow(folder: string): void {
  if (!existsSync('/proc/mounts')) return;
  const points = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    // /proc/mounts writes a blank as \040.
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

function mount(folder: string, size = SIZE): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], { stdio: 'ignore' });
}

function unmount(folder: string): void {
  execFileSync('umount', ['-l', folder], { stdio: 'ignore' });
}
