import { ApiError, invalidRequest } from '../../http/errors/api-error.js';

/** 400 for a key that is none. */
export function invalidKey(
  message = 'must be 1 to 255 visible ASCII characters, such as a UUID; quotes around them are optional',
): ApiError {
  return invalidRequest([{ parameter: 'Idempotency-Key', message }]);
}

/** 409: another request with this key has no response yet. */
export function keyInUse(): ApiError {
  const message = 'A request with this Idempotency-Key is in progress; repeat it to get its response';
  const headers = { 'retry-after': '1' };
  return new ApiError(409, 'IDEMPOTENCY_KEY_IN_USE', message, { headers });
}

/** 422: the key belongs to a request with another body or query. */
export function keyReused(): ApiError {
  const message = 'Another request had this Idempotency-Key, with another body; use a new key for each request';
  return new ApiError(422, 'IDEMPOTENCY_KEY_REUSED', message);
}
