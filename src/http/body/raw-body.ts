import { isUtf8 } from 'node:buffer';
import { safeParse } from 'fast-content-type-parse';
import type { FastifyInstance } from 'fastify';
import { ApiError } from '../errors/api-error.js';
import { BODY_LIMIT } from './body-limit.js';

type ContentType = ReturnType<typeof safeParse>;

const JSON_TYPE = 'application/json';
const MERGE_PATCH_TYPE = 'application/merge-patch+json';

/** A body as it arrived. It is understood only after the guards, so that without a token nobody learns what is wrong. */
export class RawBody {
  constructor(
    private readonly bytes: Buffer,
    private readonly method: string,
    private readonly mediaType: ContentType | undefined,
    private readonly contentEncoding: string | undefined,
  ) {}

  /**
   * The value the body stands for.
   * @throws {ApiError} 415 for another media type, charset or coding than accepted, 400 for text that is not JSON
   */
  json(): unknown {
    this.requireJsonType();
    if (this.bytes.length === 0) throw emptyBody();
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
    const { type = '', parameters } = this.mediaType ?? {};
    const charset = parameters?.['charset']?.toLowerCase() ?? 'utf-8';
    if (!acceptedTypes(this.method).includes(type) || charset !== 'utf-8') throw wrongMediaType(this.method);
    if (this.contentEncoding !== undefined && this.contentEncoding.toLowerCase() !== 'identity') throw wrongCoding();
  }
}

const acceptedTypes = (method: string): string[] => (method === 'PATCH' ? [JSON_TYPE, MERGE_PATCH_TYPE] : [JSON_TYPE]);

/** 415 for a body that is not JSON in UTF-8. */
export function wrongMediaType(method: string): ApiError {
  const accepted = acceptedTypes(method);
  const message = `The Content-Type must be ${accepted.join(' or ')}, in UTF-8`;
  const field = method === 'PATCH' ? 'accept-patch' : 'accept';
  return new ApiError(415, 'UNSUPPORTED_MEDIA_TYPE', message, { headers: { [field]: accepted.join(', ') } });
}

/** 415 for a body with a `Content-Encoding`. */
export function wrongCoding(): ApiError {
  return new ApiError(415, 'UNSUPPORTED_MEDIA_TYPE', 'The body must come without a Content-Encoding', {
    headers: { 'accept-encoding': 'identity' },
  });
}

/** 400 for a request without a body. */
export function emptyBody(): ApiError {
  return malformed('The body is empty; send a JSON object');
}

function malformed(message: string): ApiError {
  return new ApiError(400, 'MALFORMED_JSON', message);
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The media type of the body; absent when the request names none, and empty when it is not well-formed. */
    mediaTypeOfBody?: ContentType;
  }
}

/** Makes Fastify hand every body on as a `RawBody`, whatever its media type; over `BODY_LIMIT` it responds with 413. */
export function readRawBodies(app: FastifyInstance): void {
  app.decorateRequest('mediaTypeOfBody', undefined);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: BODY_LIMIT }, (request, bytes, done) => {
    const { headers, method, mediaTypeOfBody } = request;
    done(null, new RawBody(bytes as Buffer, method, mediaTypeOfBody, headers['content-encoding']));
  });
  // Fastify itself responds with 415 to a media type that it cannot parse, before the guards: it gets to see one that it can.
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request.raw;
    const given = headers['content-type'];
    if (given !== undefined) {
      request.mediaTypeOfBody = safeParse(given);
      headers['content-type'] = request.mediaTypeOfBody.type || 'application/octet-stream';
    }
    done();
  });
}
