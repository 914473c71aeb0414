import { ApiError } from '../http/errors/api-error.js';
import type { ResourceName } from './resource-name.js';

/** No record of the resource has this id, or no longer. */
export class ResourceNotFoundError extends ApiError {
  constructor(name: ResourceName, id: number) {
    super(404, name.notFoundCode, `There is no ${name.text} ${id}`);
  }
}

/**
 * What a store has found, or whether it has deleted something.
 * @throws {ResourceNotFoundError} when there was nothing
 */
export function found<T>(name: ResourceName, id: number, result: T | undefined | false): T {
  if (result === undefined || result === false) throw new ResourceNotFoundError(name, id);
  return result;
}
