import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hasEntityTag } from '../http/messages/entity-tag.js';

/**
 * A file that is sent from memory: no descriptor is open while a client reads it, and the responses that wait on a
 * connection share its bytes.
 */
export class StaticFile {
  /** Strong, and the same in every replica: it is made of the content alone. */
  private readonly etag: string;

  constructor(
    private readonly mediaType: string,
    private readonly content: Buffer,
  ) {
    this.etag = `"${createHash('sha256').update(content).digest('base64url')}"`;
  }

  /** Sends the content, or 304 to a client that has it (RFC 9110 section 13.1.2). */
  send(request: FastifyRequest, reply: FastifyReply): void {
    reply.headers({ etag: this.etag, 'cache-control': 'no-cache' });
    const condition = request.headers['if-none-match'];
    if (condition !== undefined && hasEntityTag(condition, this.etag, 'weak')) reply.code(304).send();
    else reply.type(this.mediaType).send(this.content);
  }
}
