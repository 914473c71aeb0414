import { ApiError } from '../http/api-error.js';

/** No cookie has this id, or no longer. */
export class CookieNotFoundError extends ApiError {
  constructor(id: number) {
    super(404, 'COOKIE_NOT_FOUND', `There is no cookie ${id}`);
  }
}
