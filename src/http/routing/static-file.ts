import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { hasEntityTag } from '../messages/request.js';

export const HTML = 'text/html; charset=utf-8';
export const CSS = 'text/css; charset=utf-8';
export const SCRIPT = 'text/javascript; charset=utf-8';

/** A policy for pages: scripts, styles and requests of this origin only, and no frame around the page. */
export const PAGE_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // The admin page and the style sheet of Swagger UI contain icons as data URLs.
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** Registers routes whose files are made at the first request; after an error, the next request tries again. */
export function serveFiles(
  fastify: FastifyInstance,
  files: Readonly<Record<string, () => StaticFile | Promise<StaticFile>>>,
  headers: Record<string, string> = {},
): void {
  for (const [url, make] of Object.entries(files)) {
    let file: Promise<StaticFile> | undefined;
    const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      file ??= Promise.resolve(make()).catch((error: unknown) => {
        file = undefined;
        throw error;
      });
      const made = await file;
      made.send(request, reply.headers(headers));
      return reply;
    };
    fastify.route({ method: ['GET', 'HEAD'], url, handler });
  }
}

/** A file in memory. A slow client keeps no descriptor open, and all responses share one Buffer. */
export class StaticFile {
  /** A strong ETag: a hash of the content, equal in all replicas. */
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
