import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { subjectOf } from '../../auth/principal.js';
import { IDEMPOTENCY_KEY, RawBody } from '../../http/body/raw-body.js';
import { invalidKey } from './idempotency-errors.js';

/** Visible ASCII without comma, quote and backslash, so that two fields which Node has joined are no key. */
const BARE = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+$/;
/** A string of structured fields (RFC 9651 section 3.3.3). */
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])+)"$/;
const MOST_CHARACTERS = 255;

/**
 * The `Idempotency-Key` of a POST (draft-ietf-httpapi-idempotency-key-header-06). The table has hashes, because a key
 * may be long, and the table should name nobody.
 */
export class IdempotencyKey {
  /** Hash of issuer, subject, path and key: others may use the same key for requests of their own. */
  readonly id: string;
  /** Hash of the query and the body, by which a repetition differs from another request. */
  readonly fingerprint: string;
  private isUsed = false;

  constructor(
    key: string,
    request: FastifyRequest,
    private readonly reply: FastifyReply,
  ) {
    const [path, query] = request.url.split('?', 2);
    this.id = hashOf(JSON.stringify([subjectOf(request), path, key]));
    // A body that the handler reads as a stream has no content here: then any body counts as the same.
    const content = request.body instanceof RawBody ? request.body.content : undefined;
    this.fingerprint = hashOf(JSON.stringify(query ?? ''), content);
  }

  /** @throws {Error} when the request has used its key for another write: a repetition would get one result for both */
  use(): void {
    if (this.isUsed) {
      throw new Error('Only one write of a request may get its preconditions: make all writes in one transaction');
    }
    this.isUsed = true;
  }

  /** Marks the response as one to a repetition. */
  markReplayed(): void {
    this.reply.header('idempotency-replayed', 'true');
  }
}

/**
 * The key of a POST; `undefined` if it has none. Other methods are idempotent (PUT, DELETE) or have `If-Match` (PATCH).
 * @throws {ApiError} 400 when it is invalid
 */
export function idempotencyKeyOf(request: FastifyRequest, reply: FastifyReply): IdempotencyKey | undefined {
  const { [IDEMPOTENCY_KEY]: field } = request.headers;
  if (field === undefined || request.method !== 'POST') return undefined;
  if (request.user === undefined) throw invalidKey('needs a token here, because a key is valid for one subject');
  return new IdempotencyKey(parsed(String(field)), request, reply);
}

/** Accepts the key as a quoted string, as the draft says, and also without quotes, as many clients send it. */
function parsed(field: string): string {
  const key = BARE.test(field) ? field : QUOTED.exec(field)?.[1]?.replaceAll(/\\(.)/g, '$1');
  if (key === undefined || key.length > MOST_CHARACTERS) throw invalidKey();
  return key;
}

function hashOf(text: string, content?: Buffer): string {
  const hash = createHash('sha256').update(text);
  return (content === undefined ? hash : hash.update(content)).digest('base64url');
}
