import type { Sql } from '../../database/engine.js';
import type { RecordOf, ResourceEntity } from './resource-entity.js';

/** A record before and after a write; a new record has no `before`. */
export interface RecordChange<Entity extends ResourceEntity> {
  readonly before?: RecordOf<Entity>;
  readonly after: RecordOf<Entity>;
}

/** The transaction of a write, for a rule. */
export interface RuleTransaction extends Sql {
  /**
   * Reads a row of a resource and locks it until the transaction ends. A rule locks what it compares with: then a write of
   * another resource waits, and its own rule sees this write.
   */
  lock<Row>(table: string, id: number): Promise<Row | undefined>;
}

/** What must hold across records: of one resource, or of several. */
export interface Rule<Entity extends ResourceEntity> {
  /**
   * Runs inside the transaction of each POST, PUT, PATCH and import of the resource, after the write: SQL reads what would be
   * stored. When it throws an `ApiError` or an exception of Nest, the write is undone, and that is the response. It may run
   * again, and so must only use its arguments.
   */
  check(change: RecordChange<Entity>, transaction: RuleTransaction): Promise<void>;
}

/** The error of a rule for one of several records. */
export class RejectedRecordError extends Error {
  constructor(
    readonly index: number,
    override readonly cause: Error,
  ) {
    super(cause.message);
    this.name = 'RejectedRecordError';
  }
}
