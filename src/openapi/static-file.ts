import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hasEntityTag } from '../http/messages/entity-tag.js';

/**
 * A file that is sent from memory. Responses share its bytes, and no descriptor is open while a client reads.
 */
export class StaticFile {
  /** Strong ETag from the content, so all replicas have the same one. */
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
