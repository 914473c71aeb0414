import type { Config } from '../config/config.js';
import { ApiError } from '../http/errors/api-error.js';
import { hasEntityTag } from '../http/messages/request.js';
import type { IdempotencyKey } from './idempotency/idempotency.js';
import type { Version, WriteCheck } from './resource-entity.js';

/** The strong entity tag of a version (RFC 9110 section 8.8.3). */
export const etagOf = ({ epoch, revision }: Version): string => `"${epoch}-${revision}"`;

/** `If-Match` and `If-None-Match` of a request (RFC 9110 section 13), and the `Idempotency-Key` of a POST. */
export class Preconditions {
  constructor(
    private readonly ifMatch?: string,
    private readonly ifNoneMatch?: string,
    readonly key?: IdempotencyKey,
  ) {}

  /**
   * Tells whether a GET or HEAD is 304: the client already has this version.
   * @throws {ApiError} 412 when `If-Match` asks for another version
   */
  isNotModified(version: Version): boolean {
    if (this.ifMatch === undefined && this.ifNoneMatch === undefined) return false;
    const etag = etagOf(version);
    if (this.ifMatch !== undefined && !hasEntityTag(this.ifMatch, etag, 'strong')) {
      if (!this.ifMatch.includes('"')) throw preconditionFailed('unquoted');
      throw preconditionFailed(hasEntityTag(this.ifMatch, etag, 'weak') ? 'weak' : 'stale');
    }
    return this.ifNoneMatch !== undefined && hasEntityTag(this.ifNoneMatch, etag, 'weak');
  }

  /** The check of a write, in its transaction: 428 for a missing `If-Match` that is required, 412 for a false one. */
  forWrite({ requireIfMatch }: Pick<Config, 'requireIfMatch'>): WriteCheck {
    return (current) => {
      if (requireIfMatch && this.ifMatch === undefined) throw preconditionRequired();
      if (this.isNotModified(current)) throw preconditionFailed('excluded');
    };
  }
}

export const NO_PRECONDITIONS = new Preconditions();

export function preconditionRequired(): ApiError {
  const message = 'Send If-Match with the ETag of the record that you mean to change';
  return new ApiError(428, 'PRECONDITION_REQUIRED', message);
}

/** Messages of a 412. */
const FAILURES = {
  stale: 'The record has changed since you read it; read it again, then decide',
  weak: 'If-Match never matches a weak ETag: leave out W/, which a proxy that compresses adds',
  unquoted: 'If-Match must be * or an ETag with its double quotes, as a response has it',
  excluded: 'The record is one that If-None-Match excludes',
} as const;

export function preconditionFailed(reason: keyof typeof FAILURES): ApiError {
  return new ApiError(412, 'PRECONDITION_FAILED', FAILURES[reason]);
}
