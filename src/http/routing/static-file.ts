import { createHash } from 'node:crypto';
import { extname } from 'node:path/posix';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { hasEntityTag } from '../messages/request.js';
import { unknownParameter } from '../request.guard.js';

const TYPES: Readonly<Record<string, string>> = {
  '': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
};

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

/** Makes the content of each path. It is kept in memory: a slow client keeps no descriptor open. */
export type Files = Readonly<Record<string, () => string | Buffer>>;

/** A page at `/name` and `/name/`. Its files are relative to it, because a proxy may add a prefix. */
export const page = (name: string, html: () => string): Files => ({
  [`/${name}`]: html,
  [`/${name}/`]: () => html().replaceAll(`"${name}/`, '"'),
});

/**
 * Registers routes whose files are made at the first request; after an error, the next request tries again. The ETag is
 * strong: a hash of the content, equal in all replicas.
 */
export function serveFiles(fastify: FastifyInstance, files: Files, headers: Record<string, string> = {}): void {
  for (const [url, make] of Object.entries(files)) {
    let file: { readonly content: Buffer; readonly etag: string } | undefined;
    const handler = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
      const [parameter] = Object.keys(request.query as object);
      if (parameter !== undefined) throw unknownParameter(parameter);
      file ??= tagged(Buffer.from(make()));
      const { content, etag } = file;
      reply.headers({ ...headers, etag, 'cache-control': 'no-cache' });
      // 304 to a client that has the file (RFC 9110 section 13.1.2).
      const condition = request.headers['if-none-match'];
      if (condition !== undefined && hasEntityTag(condition, etag, 'weak')) return reply.code(304).send();
      return reply.type(TYPES[extname(url)]!).send(content);
    };
    fastify.route({ method: ['GET', 'HEAD'], url, handler });
  }
}

const tagged = (content: Buffer) => ({
  content,
  etag: `"${createHash('sha256').update(content).digest('base64url')}"`,
});
