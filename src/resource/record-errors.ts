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

/** 428: the service requires If-Match. */
export function preconditionRequired(): ApiError {
  const message = 'Send If-Match with the ETag of the record that you mean to change';
  return new ApiError(428, 'PRECONDITION_REQUIRED', message);
}

/** 412: If-Match names another version. */
export function staleVersion(): ApiError {
  return preconditionFailed('The record has changed since you read it; read it again, then decide');
}

/** 412: If-None-Match names this version. */
export function excludedVersion(): ApiError {
  return preconditionFailed('The record is one that If-None-Match excludes');
}

function preconditionFailed(message: string): ApiError {
  return new ApiError(412, 'PRECONDITION_FAILED', message);
}

/** The error of a rule for one of several records. */
export class RejectedRecordError extends Error {
  constructor(
    readonly index: number,
    override readonly cause: Error,
  ) {
    super(cause.message);
    this.name = 'RejectedRecordError';
  }
}
