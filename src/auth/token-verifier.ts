import { Injectable } from '@nestjs/common';
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import { Config } from '../config/config.js';
import { InvalidTokenError } from './auth-errors.js';
import type { Principal } from './principal.js';
import { TokenCache } from './token-cache.js';
import { requireCanonical, requirePlainHeader } from './token-form.js';
import { verificationKey } from './token-key.js';

/** Seconds by which clocks may differ. */
const CLOCK_SKEW = 30;

/** Largest length of `sub` and `iss`, which are logged: four times the limit of OpenID Connect Core section 2. */
const LONGEST_NAME = 1024;

/** Verifies tokens (RFC 7519, RFC 8725) and caches the valid ones until they expire. */
@Injectable()
export class TokenVerifier {
  private readonly verified = new TokenCache();
  private readonly key;

  constructor(private readonly config: Config) {
    this.key = verificationKey(config);
  }

  /** @throws {InvalidTokenError} as a rejection */
  async verify(token: string): Promise<Principal> {
    const cached = this.verified.get(token);
    if (cached !== undefined) return cached;
    const principal = this.principalOf(await this.payloadOf(token));
    this.verified.set(token, principal);
    return principal;
  }

  private async payloadOf(token: string): Promise<JWTPayload> {
    const { issuer, audience } = this.config.jwt;
    try {
      requireCanonical(token);
      requirePlainHeader(decodeProtectedHeader(token));
      const { payload } = await jwtVerify(token, this.key.key, {
        algorithms: this.key.algorithms,
        issuer,
        audience,
        clockTolerance: CLOCK_SKEW,
        requiredClaims: ['exp', 'sub'],
      });
      return payload;
    } catch (error) {
      throw error instanceof InvalidTokenError ? error : new InvalidTokenError(reason(error));
    }
  }

  private principalOf(payload: JWTPayload): Principal {
    const { sub, iss, exp } = payload;
    this.requireLifetime(exp!);
    return {
      subject: name('sub', sub),
      issuer: iss === undefined ? undefined : name('iss', iss),
      scopes: new Set(scopesIn(payload, this.config.jwt.scopeClaim)),
      expiresAt: exp!,
    };
  }

  /** Limits the time until `exp`, counted from now and not from `iat`. */
  private requireLifetime(exp: number): void {
    const { maxLifetime } = this.config.jwt;
    // An `exp` above the range of numbers is Infinity, and is rejected, too.
    if (exp - Date.now() / 1000 <= maxLifetime + CLOCK_SKEW) return;
    throw new InvalidTokenError(
      `The token expires too late (exp): it may be valid for ${maxLifetime} seconds from now at most`,
    );
  }
}

/** @throws {InvalidTokenError} */
function name(claim: 'sub' | 'iss', value: unknown): string {
  if (typeof value === 'string' && value !== '' && value.length <= LONGEST_NAME) return value;
  throw new InvalidTokenError(`The claim "${claim}" of the token must be a string of 1 to ${LONGEST_NAME} characters`);
}

function reason(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'The token has expired';
  if (error instanceof errors.JWTClaimValidationFailed) {
    return `The claim "${error.claim}" of the token is missing or not accepted here`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed)
    return 'The token is signed with an algorithm that is not accepted here';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'The signature of the token does not match';
  return 'The token is not a well-formed JWT';
}

/** The scopes at a path of claims: a space-separated string or an array of strings; none for any other value. */
function scopesIn(payload: JWTPayload, path: readonly string[]): string[] {
  let claim: unknown = payload;
  for (const name of path) {
    claim =
      typeof claim === 'object' && claim !== null && Object.hasOwn(claim, name) ? claim[name as never] : undefined;
  }
  if (typeof claim === 'string') return claim.split(' ').filter((scope) => scope !== '');
  if (!Array.isArray(claim)) return [];
  return claim.filter((scope): scope is string => typeof scope === 'string' && scope !== '');
}
