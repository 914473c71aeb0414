import { ApiError, invalidRequest, STORAGE_FULL } from '../http/errors/api-error.js';
import type { Id, IdKind } from './id-kinds.js';
import type { ResourceName } from './resource.js';

/** 400 for an invalid record id in a path. */
export function invalidId(parameter: string, { message }: IdKind): ApiError {
  return invalidRequest([{ parameter, message }]);
}

/** 404: the resource has no record with this id. */
export class ResourceNotFoundError extends ApiError {
  constructor(name: ResourceName, id: Id) {
    super(404, name.notFoundCode, `There is no ${name.text} ${id}`);
  }
}

/** 507: the resource has reached its capacity. */
export class StorageFullError extends ApiError {
  constructor(readonly resource: string) {
    super(507, 'STORAGE_FULL', STORAGE_FULL);
    this.name = 'StorageFullError';
  }
}
