import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import { safeParse } from 'fast-content-type-parse';
import type { FastifyInstance } from 'fastify';
import { ApiError } from '../errors/api-error.js';
import { messageOfStatus } from '../errors/error-response.js';
import { BODY_LIMIT } from './body-limit.js';

type ContentType = ReturnType<typeof safeParse>;

const JSON_TYPE = 'application/json';
const MERGE_PATCH_TYPE = 'application/merge-patch+json';

/** The media types of a body (for PATCH: RFC 5789 section 3.1). */
export const acceptedTypes = (method: string): string[] =>
  method === 'PATCH' ? [JSON_TYPE, MERGE_PATCH_TYPE] : [JSON_TYPE];

/**
 * A body that may still be arriving. It is read and parsed after the guards, so that a request without a valid token gets
 * 401 whatever its body is, and does not wait for it.
 */
export class RawBody {
  /** The parsed value, once the body has been read. */
  value?: unknown;
  private parsed?: Promise<unknown>;

  constructor(
    private readonly stream: Readable,
    private readonly method: string,
    private readonly mediaType: ContentType | undefined,
    private readonly contentEncoding: string | undefined,
  ) {}

  /**
   * Reads and parses the body at the first call.
   * @returns the parsed value
   * @throws {ApiError} 415 for a wrong media type, charset or coding, 413 if it is too large, 400 if it is not JSON
   */
  json(): Promise<unknown> {
    this.parsed ??= this.parse();
    return this.parsed;
  }

  private async parse(): Promise<unknown> {
    this.requireJsonType();
    const bytes = await read(this.stream);
    if (bytes.length === 0) throw emptyBody();
    if (!isUtf8(bytes)) throw malformed('The body is not valid UTF-8');
    const text = bytes.toString('utf8');
    if (text.charCodeAt(0) === 0xfeff) {
      throw malformed('The body begins with a byte-order mark; leave it out (RFC 8259 section 8.1)');
    }
    try {
      this.value = JSON.parse(text);
    } catch (error) {
      throw malformed(`The body is not valid JSON: ${(error as Error).message}`);
    }
    return this.value;
  }

  private requireJsonType(): void {
    const { type = '', parameters } = this.mediaType ?? {};
    const charset = parameters?.['charset']?.toLowerCase() ?? 'utf-8';
    if (!acceptedTypes(this.method).includes(type) || charset !== 'utf-8') throw wrongMediaType(this.method);
    if (this.contentEncoding !== undefined && this.contentEncoding.toLowerCase() !== 'identity') throw wrongCoding();
  }
}

/** @throws {ApiError} 413 above `BODY_LIMIT`, 400 if the client disconnects before the end */
function read(stream: Readable): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    stream.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= BODY_LIMIT) chunks.push(chunk);
      else reject(tooLarge());
    });
    stream.on('end', () => resolve(Buffer.concat(chunks)));
    const incomplete = () => {
      // `close` follows `end`, too; an error for each request would cost its stack.
      if (!stream.readableEnded) reject(new ApiError(400, 'BAD_REQUEST', 'The body did not arrive whole'));
    };
    stream.on('error', incomplete).on('close', incomplete);
    // The client may have disconnected while a guard was running.
    if (stream.destroyed) incomplete();
  });
}

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

function tooLarge(): ApiError {
  return new ApiError(413, 'PAYLOAD_TOO_LARGE', messageOfStatus(413));
}

function malformed(message: string): ApiError {
  return new ApiError(400, 'MALFORMED_JSON', message);
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The media type of the body; absent without a Content-Type, empty if it is malformed. */
    mediaTypeOfBody?: ContentType;
  }
}

/** Makes Fastify pass every body on as an unread `RawBody`. A Content-Length above `BODY_LIMIT` is 413. */
export function readRawBodies(app: FastifyInstance): void {
  app.decorateRequest('mediaTypeOfBody', undefined);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request, stream, done) => {
    const { headers, method, mediaTypeOfBody } = request;
    if (Number(headers['content-length']) > BODY_LIMIT) return done(tooLarge());
    done(null, new RawBody(stream, method, mediaTypeOfBody, headers['content-encoding']));
  });
  // Fastify sends 415 for a malformed media type before the guards, so it gets a well-formed one.
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
