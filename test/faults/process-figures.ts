import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const MEGABYTE = 1024 * 1024;

/** The memory of a process that is resident, in MB; `NaN` when it has ended. */
export function residentMegabytes(pid: number): number {
  return statusOf(pid, 'VmRSS');
}

/** The most that it ever was. */
export function peakMegabytes(pid: number): number {
  return statusOf(pid, 'VmHWM');
}

/**
 * Files, sockets and pipes that a process has open; `NaN` when it has ended.
 * @param except a file whose descriptors do not count
 */
export function openDescriptors(pid: number, except?: string): number {
  try {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).filter((descriptor) => targetOf(`${folder}/${descriptor}`) !== except).length;
  } catch {
    return NaN;
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
