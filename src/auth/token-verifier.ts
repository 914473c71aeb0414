import type { IncomingMessage } from 'node:http';
import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { decodeJwt, decodeProtectedHeader, errors, type JWTHeaderParameters, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import { Config } from '../config/config.js';
import { ApiError } from '../http/errors/api-error.js';
import { InvalidTokenError, unauthenticated } from './auth-errors.js';
import type { Principal } from './principal.js';
import { RevokedTokens } from './revoked-tokens.js';
import { CLOCK_SKEW, requireCanonical, requirePlainHeader, tokenOf } from './token-form.js';
import { type TrustedIssuer, trustedIssuers } from './token-issuers.js';

/** Largest length of `sub` and `iss`, which are logged: four times the limit of OpenID Connect Core section 2. */
const LONGEST_NAME = 1024;

/** Bytes of all entries together: some 10 000 tokens of 400 characters. */
const TOKEN_CACHE_BYTES = 16 * 1024 * 1024;
/** Maximum bytes of one entry. A larger token is not cached, because it would evict many others. */
const LARGEST_ENTRY = 24 * 1024;

/** Bytes that V8 and the cache need for an entry and for a scope, without the characters. */
const ENTRY = 400;
const SCOPE = 64;
/** Bytes per character of a token: one for the token, and up to one and a half for its claims outside of Latin-1. */
const CHARACTER = 2.5;

/** Caches the principals of verified tokens. The least recently used entry is evicted first. */
export class TokenCache {
  private readonly entries: LRUCache<string, Principal>;

  /** @param maxSize estimated bytes of all entries */
  constructor(maxSize = TOKEN_CACHE_BYTES) {
    this.entries = new LRUCache<string, Principal>({
      maxSize,
      maxEntrySize: LARGEST_ENTRY,
      sizeCalculation: ({ scopes }, token) => ENTRY + Math.ceil(CHARACTER * token.length) + SCOPE * scopes.size,
    });
  }

  /** The principal of a cached token that has not expired. */
  get(token: string): Principal | undefined {
    const principal = this.entries.get(token);
    if (principal === undefined || principal.expiresAt * 1000 > Date.now()) return principal;
    this.entries.delete(token);
    return undefined;
  }

  set(token: string, principal: Principal): void {
    this.entries.set(token, principal);
  }

  /** Estimated bytes of all entries. */
  get bytes(): number {
    return this.entries.calculatedSize;
  }
}

/** Verifies tokens (RFC 7519, RFC 8725). Valid tokens are cached until they expire or are revoked, or keys change. */
@Injectable()
export class TokenVerifier implements OnApplicationBootstrap, OnApplicationShutdown {
  private verified = new TokenCache();
  private readonly issuers: readonly TrustedIssuer[];

  constructor(
    private readonly config: Config,
    private readonly revoked: RevokedTokens,
  ) {
    const forget = (): void => {
      this.verified = new TokenCache();
    };
    this.issuers = trustedIssuers(config, forget);
    revoked.onChange = forget;
  }

  onApplicationBootstrap(): void {
    for (const { keys } of this.issuers) keys.start?.();
  }

  onApplicationShutdown(): void {
    for (const { keys } of this.issuers) keys.stop?.();
  }

  /**
   * Verifies the token of a request.
   * @throws {ApiError} 401 as a rejection, without a valid token
   * @throws {ApiError} 503 as a rejection, if the keys of the issuer cannot be loaded
   */
  async authenticate(request: Pick<IncomingMessage, 'headers'>): Promise<Principal> {
    const token = tokenOf(request);
    if (token === undefined) throw unauthenticated();
    return this.verify(token);
  }

  /**
   * @throws {InvalidTokenError} as a rejection
   * @throws {ApiError} 503 as a rejection, if the keys of the issuer cannot be loaded
   */
  async verify(token: string): Promise<Principal> {
    // A token that is verified while keys change goes into the old cache.
    const cache = this.verified;
    const cached = cache.get(token);
    if (cached !== undefined) return cached;
    const principal = await this.payloadOf(token);
    cache.set(token, principal);
    return principal;
  }

  private async payloadOf(token: string): Promise<Principal> {
    try {
      requireCanonical(token);
      const header = decodeProtectedHeader(token) as JWTHeaderParameters;
      requirePlainHeader(header);
      const issuer = this.issuerOf(token);
      return this.principalOf(await verifiedPayload(token, header, issuer), issuer);
    } catch (error) {
      throw error instanceof ApiError ? error : new InvalidTokenError(reason(error));
    }
  }

  /** The issuer that a token names. Its keys and claims are checked afterwards. */
  private issuerOf(token: string): TrustedIssuer {
    const { iss } = decodeJwt(token);
    const found = this.issuers.find(({ issuer }) => issuer === undefined || issuer === iss);
    if (found === undefined) throw notAccepted('iss');
    return found;
  }

  private principalOf(payload: JWTPayload, { scopeClaims }: TrustedIssuer): Principal {
    const { sub, iss, exp } = payload;
    this.requireLifetime(exp!);
    if (this.revoked.includes(payload)) throw new InvalidTokenError('The token was revoked');
    return {
      subject: name('sub', sub),
      issuer: iss === undefined ? undefined : name('iss', iss),
      scopes: new Set(scopeClaims.flatMap((path) => scopesIn(payload, path))),
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

/** Tries each key that may have signed the token. */
async function verifiedPayload(
  token: string,
  header: JWTHeaderParameters,
  trusted: TrustedIssuer,
): Promise<JWTPayload> {
  const { issuer, audience, keys } = trusted;
  let failure: unknown = new errors.JOSEAlgNotAllowed();
  for await (const key of keys.candidates(header)) {
    try {
      const { payload } = await jwtVerify(token, key, {
        algorithms: [header.alg],
        issuer,
        audience,
        clockTolerance: CLOCK_SKEW,
        requiredClaims: ['exp', 'sub'],
      });
      return payload;
    } catch (error) {
      // A TypeError concerns the key, such as an RSA key of 1024 bits; another key may fit.
      const isUnfitKey = error instanceof TypeError;
      failure = isUnfitKey ? new errors.JOSEAlgNotAllowed() : error;
      if (!isUnfitKey && !(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
    }
  }
  throw failure;
}

/** @throws {InvalidTokenError} */
function name(claim: 'sub' | 'iss', value: unknown): string {
  if (typeof value === 'string' && value !== '' && value.length <= LONGEST_NAME) return value;
  throw new InvalidTokenError(`The claim "${claim}" of the token must be a string of 1 to ${LONGEST_NAME} characters`);
}

function notAccepted(claim: string): InvalidTokenError {
  return new InvalidTokenError(`The claim "${claim}" of the token is missing or not accepted here`);
}

function reason(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'The token has expired';
  if (error instanceof errors.JWTClaimValidationFailed) {
    return notAccepted(error.claim).message;
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return 'The token has an algorithm or a key that is not accepted here';
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
