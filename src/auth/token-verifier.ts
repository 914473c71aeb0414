import { Injectable } from '@nestjs/common';
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import { Config } from '../config/config.js';
import type { Principal } from './principal.js';
import { verificationKey } from './token-key.js';

/** The token is not one this service accepts; the message tells its bearer why. */
export class InvalidTokenError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'InvalidTokenError';
  }
}

/** Clocks may differ by so many seconds. */
const CLOCK_SKEW = 30;
// Together the bound of the cache's memory, about 20 MB.
const CACHED_TOKENS = 5000;
const CACHED_TOKEN_LENGTH = 4096;

/** Header parameters by which a token would choose its own key (RFC 7515 section 4.1). */
const EMBEDDED_KEYS = ['jwk', 'jku', 'x5u', 'x5c'] as const;

/** Verifies tokens (RFC 7519, RFC 8725) and remembers those that passed until they expire. */
@Injectable()
export class TokenVerifier {
  private readonly verified = new LRUCache<string, Principal>({ max: CACHED_TOKENS });
  private readonly key;

  constructor(private readonly config: Config) {
    this.key = verificationKey(config);
  }

  /** Who the token speaks for, if it has been verified before and has not expired since. */
  known(token: string): Principal | undefined {
    const principal = this.verified.get(token);
    if (principal === undefined || principal.expiresAt * 1000 > Date.now()) return principal;
    this.verified.delete(token);
    return undefined;
  }

  /** @throws {InvalidTokenError} */
  async verify(token: string): Promise<Principal> {
    const principal = this.principalOf(await this.payloadOf(token));
    if (token.length <= CACHED_TOKEN_LENGTH) this.verified.set(token, principal);
    return principal;
  }

  private async payloadOf(token: string): Promise<JWTPayload> {
    const { issuer, audience } = this.config.jwt;
    try {
      refuseHeader(decodeProtectedHeader(token));
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
    if (typeof sub !== 'string' || sub === '')
      throw new InvalidTokenError('The claim "sub" of the token must be a text');
    return {
      subject: sub,
      issuer: iss,
      scopes: new Set(scopesIn(payload, this.config.jwt.scopeClaim)),
      expiresAt: exp!,
    };
  }
}

function refuseHeader(header: object): void {
  if ('crit' in header) throw new InvalidTokenError('The token has critical extensions (crit), and none is known here');
  const embedded = EMBEDDED_KEYS.find((name) => name in header);
  if (embedded !== undefined) throw new InvalidTokenError(`The token brings a key of its own (${embedded})`);
}

function reason(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'The token has expired';
  if (error instanceof errors.JWTClaimValidationFailed)
    return `The claim "${error.claim}" of the token is missing or not accepted here`;
  if (error instanceof errors.JOSEAlgNotAllowed)
    return 'The token is signed with an algorithm that is not accepted here';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'The signature of the token does not match';
  return 'The token is not a well-formed JWT';
}

/** The scopes at a path of claims: a space-separated text or an array of texts; none when there is neither. */
function scopesIn(payload: JWTPayload, path: readonly string[]): string[] {
  let claim: unknown = payload;
  for (const name of path) {
    claim =
      typeof claim === 'object' && claim !== null && Object.hasOwn(claim, name) ? claim[name as never] : undefined;
  }
  const scopes = typeof claim === 'string' ? claim.split(' ') : Array.isArray(claim) ? claim : [];
  return scopes.filter((scope): scope is string => typeof scope === 'string' && scope !== '');
}
