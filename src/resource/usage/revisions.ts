import type { Sql } from '../../database/sql.js';
import type { UsageCounter, Version } from './usage-counter.js';

/**
 * Assigns revisions to several changes of a transaction with two statements in all. The first one locks the `storage` row, so no
 * other transaction takes a revision meanwhile.
 */
export class Revisions {
  private last?: Version;
  private unsaved = 0;

  constructor(
    private readonly storage: UsageCounter,
    private readonly transaction: Sql,
  ) {}

  /** The revision of the next change. */
  async next(): Promise<Version> {
    if (this.last === undefined) {
      this.last = await this.storage.touch(this.transaction);
    } else {
      this.unsaved++;
      this.last = { epoch: this.last.epoch, revision: this.last.revision + 1 };
    }
    return this.last;
  }

  /** Call it once after the last change. */
  async save(): Promise<void> {
    if (this.unsaved > 0) await this.storage.touch(this.transaction, this.unsaved);
  }
}
