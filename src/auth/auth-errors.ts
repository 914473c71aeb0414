import { SERVICE_NAME } from '../config/service-name.js';
import { ApiError } from '../http/errors/api-error.js';

const REALM = `Bearer realm="${SERVICE_NAME}"`;

/** 401 for an invalid token, with the reason (RFC 6750 section 3.1). */
export class InvalidTokenError extends ApiError {
  constructor(message: string) {
    const description = message.replaceAll('"', "'");
    const challenge = `${REALM}, error="invalid_token", error_description="${description}"`;
    super(401, 'INVALID_TOKEN', message, { headers: { 'www-authenticate': challenge } });
  }
}

/** 401 for a request without a token (RFC 6750 section 3). */
export function unauthenticated(): ApiError {
  const message = 'Send a token: Authorization: Bearer <JWT>';
  return new ApiError(401, 'UNAUTHENTICATED', message, { headers: { 'www-authenticate': REALM } });
}

/** 403 for a token without the scopes of the route, and for any token if the route has no scopes. */
export function forbidden(scopes: readonly string[]): ApiError {
  if (scopes.length === 0) return new ApiError(403, 'FORBIDDEN', 'No token gives access to this route');
  const list = scopes.join(' ');
  const headers = { 'www-authenticate': `${REALM}, error="insufficient_scope", scope="${list}"` };
  return new ApiError(403, 'INSUFFICIENT_SCOPE', `The token needs the scope ${list}`, { headers });
}
