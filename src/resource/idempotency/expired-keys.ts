import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { engineOf, transaction } from '../../database/engine.js';

/** Milliseconds between two deletions. */
const INTERVAL = 60_000;
/** Maximum number of keys that one transaction deletes. */
const MOST_KEYS = 500;

/**
 * Deletes expired keys, so that the table has only keys of the last 24 hours. Every process does it without `Leases`,
 * which would write first and so fail on a full volume.
 */
@Injectable()
export class ExpiredKeys implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger('IdempotencyKeys');
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();

  constructor(private readonly dataSource: DataSource) {}

  onModuleInit(): void {
    this.running = this.deleteEveryMinute();
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** Deletes all expired keys. After each transaction it pauses as long as that took, so that others can write. */
  async delete(): Promise<void> {
    const { signal } = this.stopping;
    const { now } = engineOf(this.dataSource).dialect;
    // The outer condition is for PostgreSQL, where another process may have stored a new result since the SELECT.
    const statement = `DELETE FROM idempotency_keys WHERE expires <= ${now} AND id IN
      (SELECT id FROM idempotency_keys WHERE expires <= ${now} ORDER BY expires LIMIT ${MOST_KEYS}) RETURNING id`;
    let deleted = MOST_KEYS;
    while (deleted === MOST_KEYS && !signal.aborted) {
      const started = performance.now();
      const rows = await transaction(this.dataSource, (tx) => tx.query<unknown[]>(statement, []), {
        reclaimsSpace: true,
      });
      deleted = rows.length;
      await delay(performance.now() - started, undefined, { signal }).catch(() => undefined);
    }
  }

  private async deleteEveryMinute(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await delay(INTERVAL, undefined, { signal, ref: false }).catch(() => undefined);
      await this.delete().catch((error: Error) =>
        this.logger.warn(`Expired idempotency keys stay for a minute: ${error.message}`),
      );
    }
  }
}
