import type { Config } from '../config/config.js';
import { hasEntityTag } from '../http/messages/request.js';
import type { IdempotencyKey } from './idempotency/idempotency.js';
import { excludedVersion, preconditionRequired, staleVersion } from './record-errors.js';
import type { Version } from './resource-entity.js';

/** The strong entity tag of a version (RFC 9110 section 8.8.3). */
export function etagOf({ epoch, revision }: Version): string {
  return `"${epoch}-${revision}"`;
}

/** `If-Match` and `If-None-Match` of a request (RFC 9110 section 13), and the `Idempotency-Key` of a POST. */
export class Preconditions {
  constructor(
    private readonly ifMatch: string | undefined,
    private readonly ifNoneMatch: string | undefined,
    readonly key?: IdempotencyKey,
  ) {}

  /**
   * Tells whether a GET or HEAD is 304: the client already has this version.
   * @throws {ApiError} 412 when `If-Match` asks for another version
   */
  isNotModified(version: Version): boolean {
    this.checkIfMatch(version);
    return this.ifNoneMatch !== undefined && hasEntityTag(this.ifNoneMatch, etagOf(version), 'weak');
  }

  /** Returns `checkWrite` with the setting, for the transaction of a write. */
  forWrite({ requireIfMatch }: Pick<Config, 'requireIfMatch'>): (current: Version) => void {
    return (current) => this.checkWrite(current, requireIfMatch);
  }

  /**
   * Checks the conditions of a write. Call it inside the transaction that changes the record.
   * @param required whether a request without `If-Match` is rejected
   * @throws {ApiError} 428 when `If-Match` is required and missing, 412 when a condition does not hold
   */
  checkWrite(version: Version, required: boolean): void {
    if (required && this.ifMatch === undefined) {
      throw preconditionRequired();
    }
    this.checkIfMatch(version);
    if (this.ifNoneMatch !== undefined && hasEntityTag(this.ifNoneMatch, etagOf(version), 'weak')) {
      throw excludedVersion();
    }
  }

  private checkIfMatch(version: Version): void {
    if (this.ifMatch !== undefined && !hasEntityTag(this.ifMatch, etagOf(version), 'strong')) {
      throw staleVersion();
    }
  }
}

/** The preconditions of a request without any. */
export const NO_PRECONDITIONS = new Preconditions(undefined, undefined);
