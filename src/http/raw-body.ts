import { isUtf8 } from 'node:buffer';
import { safeParse } from 'fast-content-type-parse';
import type { FastifyInstance } from 'fastify';
import { ApiError } from './api-error.js';

/** Largest body that is read, in bytes. */
export const BODY_LIMIT = 16 * 1024;

const JSON_TYPE = 'application/json';
const MERGE_PATCH_TYPE = 'application/merge-patch+json';

// RFC 9110 section 8.3.1: type/subtype and parameters.
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const MEDIA_TYPE = new RegExp(`^${TOKEN}/${TOKEN}(?:[ \\t]*;[ \\t]*${TOKEN}=(?:${TOKEN}|"[^"\\\\]*"))*$`);

/** A body as it arrived. It is understood only after the guards, so that without a token nobody learns what is wrong. */
export class RawBody {
  constructor(
    private readonly bytes: Buffer,
    private readonly method: string,
    private readonly contentType: string | undefined,
    private readonly contentEncoding: string | undefined,
  ) {}

  /**
   * The value the body stands for.
   * @throws {ApiError} 415 for another media type, charset or coding than accepted, 400 for text that is not JSON
   */
  json(): unknown {
    this.requireJsonType();
    if (this.bytes.length === 0) throw malformed('The body is empty; send a JSON object');
    if (!isUtf8(this.bytes)) throw malformed('The body is not valid UTF-8');
    const text = this.bytes.toString('utf8');
    if (text.charCodeAt(0) === 0xfeff)
      throw malformed('The body begins with a byte-order mark; leave it out (RFC 8259 section 8.1)');
    try {
      return JSON.parse(text);
    } catch (error) {
      throw malformed(`The body is not valid JSON: ${(error as Error).message}`);
    }
  }

  private requireJsonType(): void {
    const accepted = this.method === 'PATCH' ? [JSON_TYPE, MERGE_PATCH_TYPE] : [JSON_TYPE];
    const { type, parameters } = safeParse(this.contentType ?? '');
    const charset = parameters['charset']?.toLowerCase() ?? 'utf-8';
    if (!accepted.includes(type) || charset !== 'utf-8') {
      throw new ApiError(415, 'UNSUPPORTED_MEDIA_TYPE', `The Content-Type must be ${accepted.join(' or ')}, in UTF-8`, {
        headers: this.method === 'PATCH' ? { 'accept-patch': accepted.join(', ') } : { accept: accepted.join(', ') },
      });
    }
    if (this.contentEncoding !== undefined && this.contentEncoding.toLowerCase() !== 'identity') {
      throw new ApiError(415, 'UNSUPPORTED_MEDIA_TYPE', 'The body must come without a Content-Encoding', {
        headers: { 'accept-encoding': 'identity' },
      });
    }
  }
}

function malformed(message: string): ApiError {
  return new ApiError(400, 'MALFORMED_JSON', message);
}

/** Makes Fastify hand every body on as a `RawBody`, whatever its media type; over `BODY_LIMIT` it answers 413. */
export function readRawBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: BODY_LIMIT }, ({ headers, method }, bytes, done) => {
    done(null, new RawBody(bytes as Buffer, method, headers['content-type'], headers['content-encoding']));
  });
  // Fastify itself answers 415 to a malformed media type, before the guards.
  app.addHook('onRequest', ({ raw: { headers } }, _reply, done) => {
    const given = headers['content-type'];
    if (given !== undefined && !MEDIA_TYPE.test(given)) headers['content-type'] = 'application/octet-stream';
    done();
  });
}
