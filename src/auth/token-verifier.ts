import { createSecretKey } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { decodeJwt, decodeProtectedHeader, errors, type JWTHeaderParameters, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import { Config } from '../config/config.js';
import type { PublicKey } from '../config/token-issuer.js';
import { ApiError } from '../http/errors/api-error.js';
import { InvalidTokenError, unauthenticated } from './auth-errors.js';
import { LONGEST_NAME, type Principal } from './principal.js';
import { RemoteKeys } from './remote-keys.js';
import { CLOCK_SKEW, RevokedTokens } from './revoked-tokens.js';
import { identityProviders, type TokenKeys, tokenSecret } from './token-key.js';

interface TrustedIssuer {
  /** `iss` of its tokens; absent for any issuer. */
  readonly issuer?: string;
  readonly audience?: string;
  readonly scopeClaim: readonly (readonly string[])[];
  readonly keys: TokenKeys;
}

const MALFORMED = 'The token is not a well-formed JWT: three parts in base64url without padding';

/** Header parameters that no token may have: extensions, and keys that it brings itself (RFC 7515 section 4.1). */
const FORBIDDEN_PARAMETERS = ['crit', 'jwk', 'jku', 'x5u', 'x5c'] as const;

/** `typ` of a JWT (RFC 7519 section 5.1) and of an access token (RFC 9068 section 2.1). */
const TYPE = /^(application\/)?(at\+)?jwt$/i;

const COMPACT_JWS = /^[\w-]+\.[\w-]+\.[\w-]*$/;
const BEARER = /^Bearer +(?=\S)/i;

/** The token in `Authorization`, after `Bearer` in any case or without a scheme. */
export function tokenOf({ headers: { authorization = '' } }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const scheme = BEARER.exec(authorization)?.[0];
  if (scheme !== undefined) return authorization.slice(scheme.length);
  return COMPACT_JWS.test(authorization) ? authorization : undefined;
}

/** Principals of verified tokens. The least recently used is evicted first; a very large token would evict many. */
export const newTokenCache = (maxSize = 16 * 1024 * 1024): LRUCache<string, Principal> =>
  new LRUCache({
    maxSize,
    maxEntrySize: 24 * 1024,
    // An estimate in bytes: objects of V8 and the cache, the token and its claims (Latin-1 or UTF-16), and each scope.
    sizeCalculation: ({ scopes }, token) => 400 + Math.ceil(2.5 * token.length) + 64 * scopes.size,
  });

/** Verifies tokens (RFC 7519, RFC 8725). Valid tokens are cached until they expire or are revoked, or keys change. */
@Injectable()
export class TokenVerifier implements OnApplicationBootstrap, OnApplicationShutdown {
  private verified = newTokenCache();
  private readonly issuers: readonly TrustedIssuer[];

  constructor(
    private readonly config: Config,
    private readonly revoked: RevokedTokens,
  ) {
    const forget = (): void => {
      this.verified = newTokenCache();
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

  /** Verifies the token of a request. A request without a token is 401, too. */
  async authenticate(request: Pick<IncomingMessage, 'headers'>): Promise<Principal> {
    const token = tokenOf(request);
    if (token === undefined) throw unauthenticated();
    return this.verify(token);
  }

  /**
   * The principal of a token: a new object, because code of a request may add properties to it.
   * @returns a promise unless the token is in the cache
   * @throws {InvalidTokenError} as a rejection
   * @throws {ApiError} 503 as a rejection, if the keys of the issuer cannot be loaded
   */
  verify(token: string): Principal | Promise<Principal> {
    const cached = this.verified.get(token);
    const isValid = cached !== undefined && cached.expiresAt * 1000 > Date.now();
    return isValid ? { ...cached } : this.verifyNew(token);
  }

  private async verifyNew(token: string): Promise<Principal> {
    // A token that is verified while keys change goes into the old cache.
    const cache = this.verified;
    const principal = await this.payloadOf(token);
    cache.set(token, principal);
    return { ...principal };
  }

  private async payloadOf(token: string): Promise<Principal> {
    try {
      if (!COMPACT_JWS.test(token)) throw new InvalidTokenError(MALFORMED);
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

  private principalOf(payload: JWTPayload, { scopeClaim }: TrustedIssuer): Principal {
    const { sub, iss, exp } = payload;
    const { maxLifetime } = this.config.jwt;
    // The limit counts from now, not from `iat`. It also rejects Infinity: an `exp` above the range of numbers.
    if (!(exp! - Date.now() / 1000 <= maxLifetime + CLOCK_SKEW)) {
      throw new InvalidTokenError(`The token expires more than ${maxLifetime} seconds from now (exp)`);
    }
    if (this.revoked.includes(payload)) throw new InvalidTokenError('The token was revoked');
    return {
      subject: name('sub', sub),
      issuer: iss === undefined ? undefined : name('iss', iss),
      scopes: new Set(scopeClaim.flatMap((path) => scopesIn(payload, path))),
      expiresAt: exp!,
    };
  }
}

/** @throws {InvalidTokenError} for critical extensions, embedded keys and tokens for other purposes */
function requirePlainHeader(header: Readonly<Record<string, unknown>>): void {
  const forbidden = FORBIDDEN_PARAMETERS.find((name) => name in header);
  if (forbidden !== undefined) throw new InvalidTokenError(`The token has the header parameter ${forbidden}`);
  // An ID token or a logout token must not be accepted for access (RFC 8725 section 3.11).
  const { typ = 'JWT' } = header;
  if (typeof typ === 'string' && TYPE.test(typ)) return;
  throw new InvalidTokenError('The header parameter typ of the token must be JWT or at+jwt, or absent');
}

async function verifiedPayload(
  token: string,
  header: JWTHeaderParameters,
  { issuer, audience, keys }: TrustedIssuer,
): Promise<JWTPayload> {
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

function name(claim: 'sub' | 'iss', value: unknown): string {
  if (typeof value === 'string' && value !== '' && value.length <= LONGEST_NAME) return value;
  throw new InvalidTokenError(`The claim "${claim}" of the token must be a string of 1 to ${LONGEST_NAME} characters`);
}

function notAccepted(claim: string): InvalidTokenError {
  return new InvalidTokenError(`The claim "${claim}" of the token is missing or not accepted here`);
}

function reason(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'The token has expired';
  if (error instanceof errors.JWTClaimValidationFailed) return notAccepted(error.claim).message;
  if (error instanceof errors.JOSEAlgNotAllowed) return 'The token has an algorithm or a key that is not accepted here';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'The signature of the token does not match';
  return MALFORMED;
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

const configuredKeys = (keys: readonly PublicKey[]): TokenKeys => ({
  candidates: ({ alg }) => keys.filter(({ algorithms }) => algorithms.includes(alg)).map(({ key }) => key),
});

/** All configured issuers. The one with keys of the configuration comes last, because it may accept every `iss`. */
function trustedIssuers(config: Config, onChange: () => void): TrustedIssuer[] {
  const { issuer, audience, scopeClaim, issuers = [] } = config.jwt;
  const mostWaiting = config.http.connections / 4 / (issuers.length + 1);
  const trusted: TrustedIssuer[] = identityProviders(config).map((provider) => {
    return { ...provider, keys: new RemoteKeys(provider.issuer, provider.jwksUri, onChange, mostWaiting) };
  });
  const keys = keysOfConfiguration(config);
  return keys === undefined ? trusted : [...trusted, { issuer, audience, scopeClaim, keys }];
}

function keysOfConfiguration(config: Config): TokenKeys | undefined {
  const { previousSecret, publicKeys } = config.jwt;
  if (publicKeys !== undefined) return configuredKeys(publicKeys);
  const secret = tokenSecret(config);
  if (secret === undefined) return undefined;
  const secrets = [secret, previousSecret].filter((text) => text !== undefined);
  return configuredKeys(secrets.map((text) => ({ key: createSecretKey(Buffer.from(text)), algorithms: ['HS256'] })));
}
