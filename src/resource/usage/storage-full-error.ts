import { ApiError } from '../../http/errors/api-error.js';

/** 507: the resource has reached its capacity. */
export class StorageFullError extends ApiError {
  constructor(readonly resource: string) {
    super(507, 'STORAGE_FULL', 'Storage is full');
    this.name = 'StorageFullError';
  }
}
