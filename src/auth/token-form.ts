import { InvalidTokenError } from './auth-errors.js';

/** Header parameters that contain or name a key (RFC 7515 section 4.1). */
const EMBEDDED_KEYS = ['jwk', 'jku', 'x5u', 'x5c'] as const;

/** `typ` of a JWT (RFC 7519 section 5.1) and of an access token (RFC 9068 section 2.1). */
const TYPES = new Set(['jwt', 'at+jwt']);

/**
 * Checks that the string is the only one for its token: three parts in base64url, without padding and with the bits that
 * the last character of a part may leave over at zero (RFC 4648 section 3.5). Decoders ignore those, so a changed string
 * would pass as the same token.
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
 * Checks what the header says beside the algorithm.
 * @throws {InvalidTokenError} for critical extensions, keys of its own, another kind of token, or one inside another
 */
export function requirePlainHeader(header: Readonly<Record<string, unknown>>): void {
  if ('crit' in header) throw new InvalidTokenError('The token has critical extensions (crit), and none is known here');
  const embedded = EMBEDDED_KEYS.find((name) => name in header);
  if (embedded !== undefined) throw new InvalidTokenError(`The token brings a key of its own (${embedded})`);
  const { typ, cty, b64 = true } = header;
  // A token for another purpose, such as an ID or logout token, must not pass as one for access (RFC 8725 section 3.11).
  if (typ !== undefined && !TYPES.has(mediaSubtype(typ))) {
    throw new InvalidTokenError('The header parameter typ of the token must be JWT or at+jwt, or absent');
  }
  if (cty !== undefined && TYPES.has(mediaSubtype(cty)))
    throw new InvalidTokenError('The token holds another one (cty)');
  if (b64 !== true) throw new InvalidTokenError('The payload of the token must be base64url (b64)');
}

/** `application/` may be left out where no other slash follows (RFC 7515 section 4.1.9); case does not matter. */
const mediaSubtype = (value: unknown): string =>
  typeof value === 'string' ? value.toLowerCase().replace(/^application\//, '') : '';
