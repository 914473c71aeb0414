import { isUtf8 } from 'node:buffer';
import type { ServerResponse } from 'node:http';
import { type Readable, Transform } from 'node:stream';
import { safeParse } from 'fast-content-type-parse';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError, overloaded } from '../errors/api-error.js';
import type { AcceptedBody } from './accepts-body.decorator.js';
import { BODY_LIMIT, lengthOf, MULTIPART } from './body-limit.js';

/** Limit of `bytesInMemory`; a body that would exceed it is 503. */
const MOST_IN_MEMORY = 64 * 1024 * 1024;

/** The media types of a JSON body (for PATCH: RFC 5789 section 3.1). */
export const acceptedTypes = (method: string): readonly string[] =>
  method === 'PATCH' ? ['application/json', 'application/merge-patch+json'] : ['application/json'];

/** The header field of requests whose bodies are kept, to compare a repetition with the first request. */
export const IDEMPOTENCY_KEY = 'idempotency-key';

/** Bytes of memory for all bodies whose limit is above `BODY_LIMIT`. */
let bytesInMemory = 0;

/**
 * A body that may still be arriving. It is read after the guards, so that a request without a valid token gets 401
 * without waiting for the body. Each method throws an `ApiError`: 415 for a wrong media type, charset or coding, 413 if
 * the body is too large, 400 if it is malformed or the client disconnects before its end.
 */
export class RawBody {
  value?: unknown;
  /** The bytes of a body that was read whole, if the request has the field `IDEMPOTENCY_KEY`. */
  content?: Buffer;
  private parsed?: Promise<unknown>;

  constructor(
    private readonly raw: Readable,
    private readonly request: FastifyRequest,
    readonly accepted: AcceptedBody,
  ) {}

  json(): Promise<unknown> {
    this.parsed ??= this.parse();
    return this.parsed;
  }

  bytes(): Promise<Buffer> {
    const { raw } = this;
    const { limit } = this.accepted;
    const isCounted = limit > BODY_LIMIT;
    let length = 0;
    if (isCounted) this.request.rawResponse?.once('close', () => (bytesInMemory -= length));
    return new Promise((resolve, reject) => {
      this.requireAccepted();
      let chunks: Buffer[] = [];
      const collect = (chunk: Buffer): void => {
        if (length + chunk.length > limit) return fail(tooLarge(limit));
        if (isCounted && bytesInMemory + chunk.length > MOST_IN_MEMORY) {
          return fail(overloaded('Too many large bodies are in memory; try again'));
        }
        length += chunk.length;
        if (isCounted) bytesInMemory += chunk.length;
        chunks.push(chunk);
        // A chunk takes 300 bytes of memory beside its content, which may be one byte.
        if (chunks.length > 100 + length / 100) chunks = [Buffer.concat(chunks)];
      };
      // The rest of the body must not be counted, because the end of the response subtracts the counted bytes.
      const fail = (error: ApiError): void => {
        raw.off('data', collect).resume();
        reject(error);
      };
      raw.on('data', collect);
      raw.on('end', () => {
        const bytes = Buffer.concat(chunks);
        if (this.request.headers[IDEMPOTENCY_KEY] !== undefined) this.content = bytes;
        resolve(bytes);
      });
      this.onEarlyEnd(reject);
    });
  }

  /** The body as a stream. Its errors are those of a body in memory. The client sends no faster than it is read. */
  stream(): Readable {
    this.requireAccepted();
    const { raw } = this;
    const { limit } = this.accepted;
    let received = 0;
    const counted = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        received += chunk.length;
        if (received > limit) done(tooLarge(limit));
        else done(null, chunk);
      },
    });
    // Without this listener an error that comes before the handler reads would end the process.
    counted.on('error', () => {});
    this.onEarlyEnd((error) => counted.destroy(error));
    return raw.pipe(counted);
  }

  get boundary(): string | undefined {
    return this.request.mediaTypeOfBody?.parameters['boundary'];
  }

  private async parse(): Promise<unknown> {
    const bytes = await this.bytes();
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
    this.request.body = this.value;
    return this.value;
  }

  private requireAccepted(): void {
    const { method, mediaTypeOfBody, headers } = this.request;
    const { type = '', parameters } = mediaTypeOfBody ?? {};
    const types = this.accepted.types ?? acceptedTypes(method);
    const charset = parameters?.['charset']?.toLowerCase() ?? 'utf-8';
    const isText = this.accepted.types === undefined || type === MULTIPART;
    if (!types.some((each) => matches(type, each)) || (isText && charset !== 'utf-8')) {
      throw wrongMediaType(method, this.accepted.types);
    }
    const coding = headers['content-encoding'];
    if (coding !== undefined && coding.toLowerCase() !== 'identity') throw wrongCoding();
  }

  /** Calls `fail` when the client disconnects, and when a 400 or 408 is sent while the body is still arriving. */
  private onEarlyEnd(fail: (error: ApiError) => void): void {
    const close = (): void => {
      if (!this.raw.readableEnded) fail(new ApiError(400, 'BAD_REQUEST', 'The body did not arrive whole'));
    };
    this.raw.on('error', close).on('close', close);
    this.request.rawResponse?.once('close', close);
    // The client may have disconnected while a guard was running.
    if (this.raw.destroyed) close();
  }
}

/** Tells whether a media type is in a range, such as `image/*` (RFC 9110 section 12.5.1). */
function matches(type: string, range: string): boolean {
  return type === range || range === '*/*' || (range.endsWith('/*') && type.startsWith(range.slice(0, -1)));
}

/** 415 for a media type that the route does not accept. Without `types` it accepts JSON in UTF-8. */
export function wrongMediaType(method: string, types?: readonly string[]): ApiError {
  const accepted = types ?? acceptedTypes(method);
  const message = `The Content-Type must be ${accepted.join(' or ')}${types === undefined ? ', in UTF-8' : ''}`;
  const field = method === 'PATCH' ? 'accept-patch' : 'accept';
  return new ApiError(415, 'UNSUPPORTED_MEDIA_TYPE', message, { headers: { [field]: accepted.join(', ') } });
}

export function wrongCoding(): ApiError {
  const headers = { 'accept-encoding': 'identity' };
  return new ApiError(415, 'UNSUPPORTED_MEDIA_TYPE', 'The body must come without a Content-Encoding', { headers });
}

export const emptyBody = (): ApiError => malformed('The body is empty; send a JSON object');

function tooLarge(limit: number): ApiError {
  return new ApiError(413, 'PAYLOAD_TOO_LARGE', `The body is larger than the ${lengthOf(limit)} that are accepted`);
}

const malformed = (message: string): ApiError => new ApiError(400, 'MALFORMED_JSON', message);

/** Makes Fastify pass every body on as an unread `RawBody`. A Content-Length above the limit of the route is 413. */
export function readRawBodies(app: FastifyInstance): void {
  app.decorateRequest('mediaTypeOfBody', undefined);
  app.decorateRequest('rawResponse', undefined);
  app.decorateRequest('receivedBody', undefined);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request, stream, done) => {
    const accepted = request.routeOptions.config.acceptedBody ?? { limit: BODY_LIMIT };
    if (Number(request.headers['content-length']) > accepted.limit) return done(tooLarge(accepted.limit));
    request.receivedBody = new RawBody(stream, request, accepted);
    done(null, request.receivedBody);
  });
  app.addHook('onRequest', (request, reply, done) => {
    // The pipe takes `null` for a request without a body, and `undefined` for a WebSocket message without data.
    request.body = null;
    const { headers } = request.raw;
    const given = headers['content-type'];
    // Fastify sends 415 for a malformed media type before the guards, so it gets a well-formed media type.
    if (given !== undefined) {
      request.mediaTypeOfBody = safeParse(given);
      headers['content-type'] = request.mediaTypeOfBody.type || 'application/octet-stream';
    }
    if (request.routeOptions.config?.acceptedBody !== undefined) request.rawResponse = reply.raw;
    done();
  });
  // Nest runs no pipe for the routes of an encapsulated plugin, such as mercurius.
  const parse = async (request: FastifyRequest): Promise<void> => {
    await request.receivedBody?.json();
  };
  app.addHook('onRoute', function (route) {
    if (this !== app) route.preValidation = [parse, ...[route.preValidation ?? []].flat()];
  });
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The media type of the body; absent without a Content-Type, empty if it is malformed. */
    mediaTypeOfBody?: ReturnType<typeof safeParse>;
    /** The response of Node, if the route has `@AcceptsBody()`. */
    rawResponse?: ServerResponse;
    /** The body, also after `body` has become its parsed JSON. */
    receivedBody?: RawBody;
  }
}
