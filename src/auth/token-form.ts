import type { IncomingMessage } from 'node:http';
import { InvalidTokenError } from './auth-errors.js';

/** Seconds by which clocks may differ. */
export const CLOCK_SKEW = 30;

/** Header parameters with a key that the token brings itself (RFC 7515 section 4.1). */
const EMBEDDED_KEYS = ['jwk', 'jku', 'x5u', 'x5c'] as const;

/** `typ` of a JWT (RFC 7519 section 5.1) and of an access token (RFC 9068 section 2.1). */
const TYPES = new Set(['jwt', 'at+jwt']);

const COMPACT_JWS = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/;
const BEARER = /^Bearer +(?=\S)/i;

/** The token in `Authorization`, after `Bearer` in any case or without a scheme; absent if there is none. */
export function tokenOf({ headers: { authorization = '' } }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const scheme = BEARER.exec(authorization)?.[0];
  if (scheme !== undefined) return authorization.slice(scheme.length);
  return COMPACT_JWS.test(authorization) ? authorization : undefined;
}

/**
 * Checks that the token has three parts in canonical base64url: without padding, and with unused bits at zero (RFC 4648
 * section 3.5). Decoders ignore these bits, so a changed string would pass as the same token.
 * @throws {InvalidTokenError}
 */
export function requireCanonical(token: string): void {
  const parts = token.split('.');
  if (parts.length !== 3) throw new InvalidTokenError('The token is not a well-formed JWT: it must have three parts');
  if (!parts.every(isCanonical)) {
    throw new InvalidTokenError(
      'The token is not a well-formed JWT: its parts must be base64url without padding (RFC 7515 section 2)',
    );
  }
}

const isCanonical = (part: string): boolean => Buffer.from(part, 'base64url').toString('base64url') === part;

/**
 * Checks the header parameters except for the algorithm.
 * @throws {InvalidTokenError} for critical extensions, embedded keys, other kinds of tokens and nested tokens
 */
export function requirePlainHeader(header: Readonly<Record<string, unknown>>): void {
  if ('crit' in header) throw new InvalidTokenError('The token has critical extensions (crit), and none is known here');
  const embedded = EMBEDDED_KEYS.find((name) => name in header);
  if (embedded !== undefined) throw new InvalidTokenError(`The token contains a key (${embedded})`);
  const { typ, cty, b64 = true } = header;
  // An ID token or a logout token must not be accepted for access (RFC 8725 section 3.11).
  if (typ !== undefined && !TYPES.has(mediaSubtype(typ))) {
    throw new InvalidTokenError('The header parameter typ of the token must be JWT or at+jwt, or absent');
  }
  if (cty !== undefined && TYPES.has(mediaSubtype(cty))) {
    throw new InvalidTokenError('The token contains another token (cty)');
  }
  if (b64 !== true) throw new InvalidTokenError('The payload of the token must be base64url (b64)');
}

/** A media type in lower case, without `application/`, which is optional (RFC 7515 section 4.1.9). */
const mediaSubtype = (value: unknown): string =>
  typeof value === 'string' ? value.toLowerCase().replace(/^application\//, '') : '';
