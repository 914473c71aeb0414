import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const MEGABYTE = 1024 * 1024;

/** Resident memory of a process in MB; `NaN` after its end. */
export function residentMegabytes(pid: number): number {
  return statusOf(pid, 'VmRSS');
}

export function peakMegabytes(pid: number): number {
  return statusOf(pid, 'VmHWM');
}

/** Number of open files, sockets and pipes of a process. @param except files whose descriptors are not counted */
export function openDescriptors(pid: number, except: readonly string[] = []): number {
  return openFiles(pid).filter((file) => !except.includes(file)).length;
}

/** The open files, sockets and pipes of a process; none after its end. */
export function openFiles(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).map((descriptor) => targetOf(`${folder}/${descriptor}`));
  } catch {
    return [];
  }
}

function targetOf(descriptor: string): string {
  try {
    return readlinkSync(descriptor);
  } catch {
    return 'closed since';
  }
}

function statusOf(pid: number, name: string): number {
  try {
    const kilobytes = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return (Number(kilobytes) * 1024) / MEGABYTE;
  } catch {
    return NaN;
  }
}
