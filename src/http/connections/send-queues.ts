import { existsSync, readFileSync, readlinkSync } from 'node:fs';

/** Bytes in the send buffer of each TCP socket of the system, by inode. */
export type SendQueues = ReadonlyMap<string, number>;

/** Reads `/proc/net/tcp` (proc(5)); the result is empty on other systems than Linux. */
export function readSendQueues(): SendQueues {
  const queues = new Map<string, number>();
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6'].filter((each) => existsSync(each))) {
    for (const line of readFileSync(table, 'latin1').split('\n').slice(1)) {
      const [, , , , queue = '', , , , , inode] = line.trim().split(/\s+/);
      if (inode !== undefined) queues.set(inode, parseInt(queue, 16));
    }
  }
  return queues;
}

/** @returns the inode of a socket by its file descriptor; `''` on other systems than Linux */
export function inodeOf(descriptor?: number): string {
  try {
    return /\d+/.exec(readlinkSync(`/proc/self/fd/${descriptor}`))?.[0] ?? '';
  } catch {
    return '';
  }
}
