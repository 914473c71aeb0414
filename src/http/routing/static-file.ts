import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { hasEntityTag } from '../messages/request.js';
import { unknownParameter } from '../request.guard.js';

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

/** A file in memory. A slow client keeps no descriptor open, and all responses share one Buffer. */
export interface StaticFile {
  readonly type: string;
  readonly content: string | Buffer;
}

/** Registers routes whose files are made at the first request; after an error, the next request tries again. */
export function serveFiles(
  fastify: FastifyInstance,
  files: Readonly<Record<string, () => StaticFile>>,
  headers: Record<string, string> = {},
): void {
  for (const [url, make] of Object.entries(files)) {
    let file: ReturnType<typeof tagged> | undefined;
    const handler = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
      const [parameter] = Object.keys(request.query as object);
      if (parameter !== undefined) throw unknownParameter(parameter);
      file ??= tagged(make());
      const { type, content, etag } = file;
      reply.headers({ ...headers, etag, 'cache-control': 'no-cache' });
      // 304 to a client that has the file (RFC 9110 section 13.1.2).
      const condition = request.headers['if-none-match'];
      if (condition !== undefined && hasEntityTag(condition, etag, 'weak')) return reply.code(304).send();
      return reply.type(type).send(content);
    };
    fastify.route({ method: ['GET', 'HEAD'], url, handler });
  }
}

/** Adds a strong ETag: a hash of the content, equal in all replicas. */
function tagged({ type, content }: StaticFile) {
  const bytes = Buffer.from(content);
  return { type, content: bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` };
}
