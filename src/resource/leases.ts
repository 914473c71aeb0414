import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { engineOf, type Sql, transaction } from '../database/engine.js';

const MINUTE = 60_000;

/** Scheduled work that only one of all processes does. */
export interface SharedWork {
  /** Its name in the database. */
  readonly name: string;
  /** Milliseconds between the starts of two runs. Before that, `run` does nothing. */
  readonly every: number;
  /** Longest time between two batches in milliseconds, after which another process takes over (default: 60 000). */
  readonly lease?: number;
  /**
   * Does one part of the work in a transaction, and returns whether there is more. Other writers may wait for it. The
   * engine may run it again, so it must only use its argument.
   */
  readonly batch: (transaction: Sql) => Promise<boolean>;
}

/**
 * Lets one process of all workers and replicas do scheduled work. The row of the work in `leases` names its holder
 * until it expires, by the clock of the database. Each batch renews the lease in its own transaction, so a process that
 * has lost the lease cannot change anything.
 */
@Injectable()
export class Leases implements OnModuleDestroy {
  private readonly logger = new Logger('Leases');
  private readonly stopping = new AbortController();
  private readonly running = new Set<Promise<unknown>>();
  private readonly now = engineOf(this.dataSource).dialect.now;
  private readonly takeLease = `INSERT INTO leases (name, holder, expires) VALUES (?, ?, ${this.now} + ?)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires = excluded.expires
    WHERE leases.holder = excluded.holder OR leases.expires NOT BETWEEN ${this.now} + 1 AND ${this.now} + ?
    RETURNING expires`;

  constructor(private readonly dataSource: DataSource) {}

  /**
   * Does the work if it is due and no other run has the lease. After each batch it waits as long as the batch took, so
   * that other writers have half of the time.
   * @returns whether this run has finished the work
   */
  async run(work: SharedWork): Promise<boolean> {
    const result = this.runBatches(work, randomUUID());
    this.running.add(result);
    return result.finally(() => this.running.delete(result));
  }

  /** Calls `work` each minute, from now until the service stops: for work that every process does. */
  everyMinute(work: (signal: AbortSignal) => Promise<void>, onError: (error: Error) => void): void {
    const { signal } = this.stopping;
    const repeat = async (): Promise<void> => {
      while (!signal.aborted) {
        await work(signal).catch(onError);
        await delay(MINUTE, undefined, { signal, ref: false }).catch(() => undefined);
      }
    };
    this.running.add(repeat());
  }

  /** Waits for the running work. Its leases end, so that another process continues. */
  async onModuleDestroy(): Promise<void> {
    this.stopping.abort();
    await Promise.allSettled(this.running);
  }

  private async runBatches(work: SharedWork, holder: string): Promise<boolean> {
    const { signal } = this.stopping;
    let begun: number | undefined;
    while (!signal.aborted) {
      const batch = await this.runBatch(work, holder, begun);
      if (batch === undefined && begun !== undefined) {
        this.logger.warn(`${work.name} continues in another process: here a batch took longer than the lease`);
      }
      if (batch === undefined || batch.isLast) return batch !== undefined;
      begun = batch.begun;
      await delay(batch.pause, undefined, { signal }).catch(() => undefined);
    }
    await transaction(
      this.dataSource,
      (tx) => tx.sql`DELETE FROM leases WHERE name = ${work.name} AND holder = ${holder}`,
    );
    return false;
  }

  /** `begun` is when the run began. Returns `undefined` when the work is not due, or another run has the lease. */
  private runBatch({ name, every, lease = MINUTE, batch }: SharedWork, holder: string, begun?: number) {
    return transaction(this.dataSource, async (tx) => {
      // A lease that ends later was written while the clock was wrong.
      const latest = 2 * Math.max(lease, every);
      const [row] = await tx.query<{ expires: number }[]>(this.takeLease, [name, holder, lease, latest]);
      if (row === undefined) return undefined;
      const beginning = begun ?? row.expires - lease;
      const started = performance.now();
      const isLast = !(await batch(tx));
      const pause = Math.min(performance.now() - started, lease / 2);
      if (isLast) await tx.sql`UPDATE leases SET holder = '', expires = ${beginning + every} WHERE name = ${name}`;
      return { begun: beginning, isLast, pause };
    });
  }
}
