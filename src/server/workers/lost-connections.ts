import type { ChildProcess } from 'node:child_process';

/** A message of Node's own between the primary and a worker; see `lib/internal/cluster` of Node. */
interface ClusterMessage {
  readonly cmd?: string;
  readonly act?: string;
  readonly seq?: number;
  readonly ack?: number;
}

interface ConnectionHandle {
  close(): void;
}

/**
 * Closes the connection that was on its way to a worker when the worker ended: Node waits for its acknowledgement for ever, and
 * the client would wait as long as it has patience. Should Node's messages change, nothing is found here, and it is as without.
 */
export function closeLostConnections(worker: ChildProcess): void {
  const pending = new Map<number, ConnectionHandle>();
  const send = worker.send.bind(worker) as (...given: unknown[]) => boolean;
  worker.send = (...given: unknown[]): boolean => {
    const [{ cmd, act, seq }, handle] = given as [ClusterMessage, ConnectionHandle | undefined];
    if (cmd === 'NODE_CLUSTER' && act === 'newconn' && handle !== undefined) pending.set(seq!, handle);
    return send(...given);
  };
  worker.on('internalMessage', ({ ack }: ClusterMessage) => {
    if (ack !== undefined) pending.delete(ack);
  });
  worker.once('exit', () => {
    for (const handle of pending.values()) handle.close();
    pending.clear();
  });
}
