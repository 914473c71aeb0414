import type { Sql } from '../../database/sql.js';
import type { UsageCounter, Version } from './usage-counter.js';

/**
 * The revisions of several changes to one resource in one transaction, for two statements instead of one for each change. The
 * first change locks the resource's row, so nobody else takes a revision meanwhile.
 */
export class Revisions {
  private last?: Version;
  private unsaved = 0;

  constructor(
    private readonly storage: UsageCounter,
    private readonly transaction: Sql,
  ) {}

  /** The revision that the next changed record takes. */
  async next(): Promise<Version> {
    if (this.last === undefined) {
      this.last = await this.storage.touch(this.transaction);
    } else {
      this.unsaved++;
      this.last = { epoch: this.last.epoch, revision: this.last.revision + 1 };
    }
    return this.last;
  }

  /** To be called once, after the last change. */
  async save(): Promise<void> {
    if (this.unsaved > 0) await this.storage.touch(this.transaction, this.unsaved);
  }
}
