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
import { type ApiError, invalidRequest } from '../http/errors/api-error.js';
import { pathPrefix } from '../http/routing/handlers.js';
import { type Id, type IdKind, INTEGER_IDS } from './id-kinds.js';
import { idempotencyKeyOf } from './idempotency/idempotency.js';
import { etagOf, Preconditions } from './preconditions.js';
import type { Stored } from './resource-entity.js';
import type { ResourceName } from './resource.js';

/** The request and the reply of a handler, with the ETags, conditions and `Location` of a resource. */
export class ResourceExchange {
  readonly request = this.context.switchToHttp().getRequest<FastifyRequest>();
  readonly reply = this.context.switchToHttp().getResponse<FastifyReply>();
  private knownPreconditions?: Preconditions;

  constructor(private readonly context: ExecutionContext) {}

  /** @throws {ApiError} 400 when the `Idempotency-Key` is invalid */
  get preconditions(): Preconditions {
    const { request, reply } = this;
    const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request.headers;
    this.knownPreconditions ??= new Preconditions(ifMatch, ifNoneMatch, idempotencyKeyOf(request, reply));
    return this.knownPreconditions;
  }

  /** The record of a GET, or `undefined` with status 304. @throws {ApiError} 412 when `If-Match` does not hold */
  record<T>({ record, version }: Stored<T>): T | undefined {
    this.reply.header('etag', etagOf(version));
    if (!this.preconditions.isNotModified(version)) return record;
    this.reply.code(304);
    return undefined;
  }

  /** Sets `Location` and ETag of a POST and returns the record. */
  created<T extends { readonly id: Id }>({ plural }: ResourceName, { record, version }: Stored<T>): T {
    this.reply.headers({ location: `${pathPrefix(this.context)}/${plural}/${record.id}`, etag: etagOf(version) });
    return record;
  }

  /** Sets the new ETag of a PATCH, or of a PUT whose body is the whole record, and returns the record. */
  changed<T>({ record, version }: Stored<T>): T {
    this.reply.header('etag', etagOf(version));
    return record;
  }
}

/** Parameter decorator: injects the `ResourceExchange` of the request. */
export const Exchange = createParamDecorator(
  (_data: unknown, context: ExecutionContext) => new ResourceExchange(context),
);

export function invalidId({ message }: IdKind, parameter = 'id'): ApiError {
  return invalidRequest([{ parameter, message }]);
}

/** `@Param('note', ParseIdPipe)`: a record id in a path; any other text is 400. */
@Injectable()
export class ParseIdPipe implements PipeTransform<string, Id> {
  constructor(@Optional() private readonly ids: IdKind = INTEGER_IDS) {}

  transform(text: string, { data = 'id' }: ArgumentMetadata): Id {
    const id = this.ids.parse(text);
    if (id === undefined) throw invalidId(this.ids, data);
    return id;
  }
}

/** Parameter decorator: injects the id of the path. Give it the name of the resource if the ids are not integers. */
export const RecordId = ({ ids }: Pick<ResourceName, 'ids'> = { ids: INTEGER_IDS }): ParameterDecorator =>
  Param('id', new ParseIdPipe(ids));
