import { ApiError } from '../http/errors/api-error.js';
import type { ResourceName } from './resource-name.js';

/** 404: the resource has no record with this id. */
export class ResourceNotFoundError extends ApiError {
  constructor(name: ResourceName, id: number) {
    super(404, name.notFoundCode, `There is no ${name.text} ${id}`);
  }
}

/**
 * Returns the result of a find, update or delete.
 * @throws {ResourceNotFoundError} when there was nothing
 */
export function found<T>(name: ResourceName, id: number, result: T | undefined | false): T {
  if (result === undefined || result === false) throw new ResourceNotFoundError(name, id);
  return result;
}
