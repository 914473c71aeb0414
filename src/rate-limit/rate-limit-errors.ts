import { ApiError } from '../http/errors/api-error.js';

/** 429 for a request beyond a limit. @param seconds until the client may try again */
export function rateLimited(message: string, seconds: number): ApiError {
  return new ApiError(429, 'RATE_LIMITED', message, { headers: { 'retry-after': String(seconds) } });
}

/** 429 for a subject or an address with too many requests in the window. */
export function tooManyRequests(counted: 'subject' | 'address', requests: number, window: number, seconds: number) {
  const limit = `The limit of this ${counted} is ${requests} requests of this kind in ${window} s`;
  return rateLimited(`${limit}; Retry-After says when to try again`, seconds);
}
