import type { ChildProcess } from 'node:child_process';

/** Milliseconds that a reply may take: a little longer than a worker waits for the database. */
const REPLY_TIMEOUT = 2500;

/** Marks the messages of the service, because modules and libraries also send messages between these processes. */
const CHANNEL = 'service-workers';

interface Message {
  readonly id: number;
  /** Absent in a reply. */
  readonly request?: string;
  readonly value?: unknown;
}

/** Requests and replies between the primary and a worker, in both directions. Messages keep their order. */
export class WorkerChannel {
  private readonly pending = new Map<number, (reply?: unknown) => void>();
  private lastId = 0;

  /** @param handlers make the replies, by the names of the requests */
  constructor(
    private readonly other: ChildProcess,
    private readonly handlers: Readonly<Record<string, (value: unknown) => unknown>>,
  ) {
    other.on('message', (message: object) => {
      if ((message as { channel?: unknown } | null)?.channel === CHANNEL) void this.receive(message as Message);
    });
    other.once('disconnect', () => this.pending.forEach((resolve) => resolve()));
  }

  /** Resolves with the reply, or with `undefined` after `REPLY_TIMEOUT` and when the other process ends. */
  ask(request: string, value?: unknown): Promise<unknown> {
    const id = ++this.lastId;
    return new Promise<unknown>((resolve) => {
      this.pending.set(id, resolve);
      setTimeout(resolve, REPLY_TIMEOUT).unref();
      this.send({ id, request, value });
    }).finally(() => this.pending.delete(id));
  }

  private async receive({ id, request, value }: Message): Promise<void> {
    if (request === undefined) this.pending.get(id)?.(value);
    else this.send({ id, value: await this.handlers[request]!(value) });
  }

  private send(message: Message): void {
    // The callback ignores the error of sending to a process that has just ended.
    if (this.other.connected) this.other.send({ ...message, channel: CHANNEL }, undefined, undefined, () => {});
  }
}
