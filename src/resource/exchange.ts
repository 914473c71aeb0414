import {
  type ArgumentMetadata,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
  Optional,
  Param,
  type PipeTransform,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config/config.js';
import { hasEntityTag } from '../http/messages/request.js';
import { type Id, type IdKind, INTEGER_IDS } from './id-kinds.js';
import { type IdempotencyKey, idempotencyKeyOf } from './idempotency/idempotency.js';
import { excludedVersion, invalidId, preconditionRequired, staleVersion } from './record-errors.js';
import type { Version } from './resource-entity.js';
import type { ResourceName } from './resource.js';

/** The strong entity tag of a version (RFC 9110 section 8.8.3). */
export function etagOf({ epoch, revision }: Version): string {
  return `"${epoch}-${revision}"`;
}

/** `If-Match` and `If-None-Match` of a request (RFC 9110 section 13), and the `Idempotency-Key` of a POST. */
export class Preconditions {
  constructor(
    private readonly ifMatch: string | undefined,
    private readonly ifNoneMatch: string | undefined,
    readonly key?: IdempotencyKey,
  ) {}

  /**
   * Tells whether a GET or HEAD is 304: the client already has this version.
   * @throws {ApiError} 412 when `If-Match` asks for another version
   */
  isNotModified(version: Version): boolean {
    this.checkIfMatch(version);
    return this.ifNoneMatch !== undefined && hasEntityTag(this.ifNoneMatch, etagOf(version), 'weak');
  }

  /** The check for a write, to run inside its transaction; see `checkWrite`. */
  forWrite({ requireIfMatch }: Pick<Config, 'requireIfMatch'>): (current: Version) => void {
    return (current) => this.checkWrite(current, requireIfMatch);
  }

  /**
   * Call it inside the transaction that changes the record.
   * @param required whether a request without `If-Match` is rejected
   * @throws {ApiError} 428 without `If-Match` where it is required, 412 when the record is not the one the client means
   */
  checkWrite(version: Version, required: boolean): void {
    if (required && this.ifMatch === undefined) {
      throw preconditionRequired();
    }
    this.checkIfMatch(version);
    if (this.ifNoneMatch !== undefined && hasEntityTag(this.ifNoneMatch, etagOf(version), 'weak')) {
      throw excludedVersion();
    }
  }

  private checkIfMatch(version: Version): void {
    if (this.ifMatch !== undefined && !hasEntityTag(this.ifMatch, etagOf(version), 'strong')) {
      throw staleVersion();
    }
  }
}

/** The preconditions of a request without any. */
export const NO_PRECONDITIONS = new Preconditions(undefined, undefined);

interface Stored<T> {
  readonly record: T;
  readonly version: Version;
}

/** The request and the reply of a handler, with the ETags, conditions and `Location` of a resource. */
export class ResourceExchange {
  private given?: Preconditions;

  constructor(
    readonly request: FastifyRequest,
    readonly reply: FastifyReply,
  ) {}

  /** @throws {ApiError} 400 when the `Idempotency-Key` is invalid */
  get preconditions(): Preconditions {
    if (this.given === undefined) {
      const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = this.request.headers;
      this.given = new Preconditions(ifMatch, ifNoneMatch, idempotencyKeyOf(this.request, this.reply));
    }
    return this.given;
  }

  /** Lets shared caches store the response of a public route (RFC 9111 section 5.2.2). Others are private. */
  allowSharedCaches(): void {
    const { request, reply } = this;
    if (request.user === undefined && !reply.hasHeader('cache-control'))
      reply.header('cache-control', 'public, no-cache');
  }

  /**
   * Sets the ETag of a GET of one record and returns the record, or `undefined` with status 304.
   * @throws {ApiError} 412 when `If-Match` does not hold
   */
  record<T>({ record, version }: Stored<T>): T | undefined {
    this.allowSharedCaches();
    this.reply.header('etag', etagOf(version));
    if (!this.preconditions.isNotModified(version)) return record;
    this.reply.code(304);
    return undefined;
  }

  /** Sets `Location` and ETag of a POST and returns the record. */
  created<T extends { readonly id: Id }>(name: ResourceName, { record, version }: Stored<T>): T {
    this.reply.headers({ location: name.pathOf(record.id), etag: etagOf(version) });
    return record;
  }

  /** Sets the new ETag of a PATCH, or of a PUT whose body is the whole record, and returns the record. */
  changed<T>({ record, version }: Stored<T>): T {
    this.reply.header('etag', etagOf(version));
    return record;
  }
}

/** Parameter decorator: injects the `ResourceExchange` of the request. */
export const Exchange = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  const http = context.switchToHttp();
  return new ResourceExchange(http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
});

/** `@Param('note', ParseIdPipe)`: a record id in a path; any other text is 400. */
@Injectable()
export class ParseIdPipe implements PipeTransform<string, Id> {
  constructor(@Optional() private readonly ids: IdKind = INTEGER_IDS) {}

  transform(text: string, { data = 'id' }: ArgumentMetadata): Id {
    const id = this.ids.parse(text);
    if (id === undefined) throw invalidId(data, this.ids);
    return id;
  }
}

/** Parameter decorator: injects the id of the path. Give it the name of the resource if the ids are not integers. */
export const RecordId = ({ ids }: Pick<ResourceName, 'ids'> = { ids: INTEGER_IDS }): ParameterDecorator =>
  Param('id', new ParseIdPipe(ids));
