import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { hasEntityTag } from '../messages/request.js';

export const HTML = 'text/html; charset=utf-8';
export const CSS = 'text/css; charset=utf-8';
export const SCRIPT = 'text/javascript; charset=utf-8';

/** Allows scripts, styles and requests of this origin only, and no frame around the page. */
export const PAGE_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // The style sheet of Swagger UI contains its icons as data, and the admin page its own.
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** Registers a route whose file is made at the first request; after an error, the next request tries again. */
export function serveFile(
  fastify: FastifyInstance,
  path: string,
  make: () => StaticFile | Promise<StaticFile>,
  headers: Record<string, string> = {},
) {
  let file: Promise<StaticFile> | undefined;
  fastify.route({
    method: ['GET', 'HEAD'],
    url: path,
    handler: async (request, reply) => {
      file ??= Promise.resolve(make()).catch((error: unknown) => {
        file = undefined;
        throw error;
      });
      const made = await file;
      reply.headers(headers);
      made.send(request, reply);
      return reply;
    },
  });
}

/** A file in memory. A slow client keeps no descriptor open, and all responses share one Buffer. */
export class StaticFile {
  /** Strong, and equal in all replicas, because it is a hash of the content. */
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
