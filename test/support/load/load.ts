import { setTimeout as sleep } from 'node:timers/promises';
import { Ledger, writeUntil } from './ledger.js';
import type { Endpoint } from '../service.js';

/** Writers that reconnect 10 ms after their connection has ended, each to the next service in the list at that time. */
export class Load {
  readonly services: Endpoint[];
  private readonly stopping = new AbortController();
  private readonly writers: Promise<unknown>;

  constructor(
    services: readonly Endpoint[],
    readonly ledger = new Ledger(),
    clients = 4,
  ) {
    this.services = [...services];
    this.writers = Promise.all(Array.from({ length: clients }, (_, index) => this.write(index)));
  }

  private async write(turn: number): Promise<void> {
    const { signal } = this.stopping;
    for (; !signal.aborted; turn++) {
      await writeUntil(signal, this.services[turn % this.services.length]!, this.ledger, 1);
      await sleep(10);
    }
  }

  async end(): Promise<void> {
    this.stopping.abort();
    await this.writers;
  }
}
