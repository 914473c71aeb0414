import { SERVICE_NAME } from '../config/service-name.js';
import { ApiError } from '../http/errors/api-error.js';

/** The token is not one this service accepts; the message tells its bearer why. */
export class InvalidTokenError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'InvalidTokenError';
  }
}

const REALM = `Bearer realm="${SERVICE_NAME}"`;

/**
 * 401 with the challenge of RFC 6750 section 3.
 * @param reason what is wrong with the token; none when the request brought none
 */
export function unauthenticated(reason?: string): ApiError {
  if (reason === undefined) {
    const message = 'Send a token: Authorization: Bearer <JWT>';
    return new ApiError(401, 'UNAUTHENTICATED', message, { headers: { 'www-authenticate': REALM } });
  }
  const description = reason.replaceAll('"', "'");
  return new ApiError(401, 'INVALID_TOKEN', reason, {
    headers: { 'www-authenticate': `${REALM}, error="invalid_token", error_description="${description}"` },
  });
}

/** 403; without scopes, the route is open to nobody. */
export function forbidden(scopes?: readonly string[]): ApiError {
  if (scopes === undefined) return new ApiError(403, 'FORBIDDEN', 'This route is open to nobody');
  const list = scopes.join(' ');
  return new ApiError(403, 'INSUFFICIENT_SCOPE', `The token needs the scope ${list}`, {
    headers: { 'www-authenticate': `${REALM}, error="insufficient_scope", scope="${list}"` },
  });
}
