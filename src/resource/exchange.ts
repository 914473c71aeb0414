import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Version } from './usage/usage-counter.js';
import { etagOf, Preconditions, preconditionsOf } from './preconditions.js';
import type { ResourceName } from './resource-name.js';

interface Stored<T> {
  readonly record: T;
  readonly version: Version;
}

/** A request for a resource, and the response in the making: what a handler of the resource returns or sets. */
export class ResourceExchange {
  constructor(
    readonly request: FastifyRequest,
    readonly reply: FastifyReply,
  ) {}

  get preconditions(): Preconditions {
    return preconditionsOf(this.request);
  }

  /**
   * What a GET of one record returns: the record with its ETag, or nothing with 304.
   * @throws {ApiError} 412 when `If-Match` does not hold
   */
  record<T>({ record, version }: Stored<T>): T | undefined {
    this.reply.header('etag', etagOf(version));
    if (!this.preconditions.isNotModified(version)) return record;
    this.reply.code(304);
    return undefined;
  }

  /** What a POST returns: the record with its `Location` and ETag. */
  created<T extends { readonly id: number }>(name: ResourceName, { record, version }: Stored<T>): T {
    this.reply.headers({ location: name.pathOf(record.id), etag: etagOf(version) });
    return record;
  }

  /** For a PATCH, or a PUT whose body is all of the record: the new ETag. */
  changed<T>({ record, version }: Stored<T>): T {
    this.reply.header('etag', etagOf(version));
    return record;
  }
}

/** The handler's argument: the `ResourceExchange` of its request. */
export const Exchange = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  const http = context.switchToHttp();
  return new ResourceExchange(http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
});
