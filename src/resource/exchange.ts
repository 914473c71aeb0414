import type { FastifyReply } from 'fastify';
import type { Version } from '../storage/resource-storage.js';
import { etagOf, type Preconditions } from './preconditions.js';
import type { ResourceName } from './resource-name.js';

interface Stored<T> {
  readonly record: T;
  readonly version: Version;
}

/**
 * What the handler of a GET of one record returns: the record with its ETag, or nothing with 304.
 * @throws {ApiError} 412 when `If-Match` does not hold
 */
export function respondRecord<T>(
  { record, version }: Stored<T>,
  preconditions: Preconditions,
  reply: FastifyReply,
): T | undefined {
  reply.header('etag', etagOf(version));
  if (!preconditions.isNotModified(version)) return record;
  reply.code(304);
  return undefined;
}

/** What the handler of a POST returns: the record with its `Location` and ETag. */
export function respondCreated<T extends { readonly id: number }>(
  name: ResourceName,
  { record, version }: Stored<T>,
  reply: FastifyReply,
): T {
  reply.headers({ location: name.pathOf(record.id), etag: etagOf(version) });
  return record;
}

/** For the handler of a PATCH: the new ETag. */
export function respondChanged({ version }: Stored<unknown>, reply: FastifyReply): void {
  reply.header('etag', etagOf(version));
}
