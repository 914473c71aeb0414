import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Logger } from '@nestjs/common';
import { createLocalJWKSet, type CryptoKey, errors, type JSONWebKeySet, type JWTHeaderParameters } from 'jose';
import { problemOf } from '../config/setting.js';
import { providerUrl } from '../config/token-issuer.js';
import { ApiError, overloaded } from '../http/errors/api-error.js';
import { reasonOf } from '../logging/reason.js';
import type { TokenKeys } from './token-key.js';

/** Shortest time between two loads in milliseconds, also while many tokens name unknown keys. */
const SHORTEST_INTERVAL = 5000;
/** Milliseconds after which the keys are loaded again, so that a removed key stops working. */
const REFRESH_INTERVAL = 5 * 60_000;
/** Milliseconds that one response of the provider may take. */
const TIMEOUT = 5000;

/** Algorithms of public keys. jose compares them with the type, the curve and the `alg` of the key. */
const ALGORITHMS = /^(RS|PS|ES)(256|384|512)$|^EdDSA$|^Ed25519$/;

/** Largest document of a provider in bytes. Key sets with certificates have some 20 KB. */
const LARGEST_DOCUMENT = 256 * 1024;

type KeySet = ReturnType<typeof createLocalJWKSet>;

/** The public keys of an identity provider. In its outage, known keys keep working; tokens with other keys are 503. */
export class RemoteKeys implements TokenKeys {
  private readonly logger = new Logger('Auth');
  private keySet?: KeySet;
  /** The load in progress, or one that waits until `SHORTEST_INTERVAL` has passed. */
  private loading?: Promise<void>;
  private startedAt = -Infinity;
  private failure?: Error;
  private waiting = 0;
  private timer?: NodeJS.Timeout;

  /**
   * @param jwksUri address of the key set; absent: it is in the discovery document of the issuer
   * @param mostWaiting requests that may wait for a load: each keeps a connection, and has no valid token yet
   */
  constructor(
    private readonly issuer: string,
    private readonly jwksUri: URL | undefined,
    private readonly onChange: () => void,
    private readonly mostWaiting: number,
  ) {}

  /** Loads the keys now and at intervals, until `stop`; after a failure at the shortest one. */
  start(): void {
    const refresh = (): void => {
      const interval = this.failure === undefined ? REFRESH_INTERVAL : SHORTEST_INTERVAL;
      if (performance.now() > this.startedAt + interval) this.reload().catch(() => {});
    };
    refresh();
    this.timer = setInterval(refresh, 1000).unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /**
   * Yields the known keys that may have signed a token, then newly published ones. A token with an unknown key id waits
   * for one more load. A token that no known key has signed waits only if the last load is over 5 s old: its key may
   * have replaced another key with the same id.
   * @throws {ApiError} 503 if the keys cannot be loaded, or if too many requests wait for them
   */
  async *candidates(header: JWTHeaderParameters): AsyncGenerator<CryptoKey, undefined> {
    if (!ALGORITHMS.test(header.alg)) return;
    if (this.keySet === undefined) await (this.loading ?? this.reload());
    const found = await this.matching(header);
    yield* found;
    if (found.length > 0 && performance.now() < this.startedAt + SHORTEST_INTERVAL) return;
    await this.reload();
    yield* await this.matching(header);
  }

  private async matching(header: JWTHeaderParameters): Promise<CryptoKey[]> {
    try {
      return [await this.keySet!(header)];
    } catch (error) {
      // No valid key has this id.
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) return [];
      // A token without `kid`: each key of its algorithm may have signed it.
      const keys: CryptoKey[] = [];
      for await (const key of error) keys.push(key);
      return keys;
    }
  }

  /** Loads the keys once for all waiting callers. A load that began before the call may lack new keys. */
  private async reload(): Promise<void> {
    if (this.waiting >= this.mostWaiting) {
      throw overloaded('Too many requests wait for the keys of the token issuer; try again');
    }
    const calledAt = performance.now();
    this.waiting += 1;
    try {
      do {
        this.loading ??= this.load().finally(() => (this.loading = undefined));
        await this.loading;
      } while (this.startedAt < calledAt);
    } finally {
      this.waiting -= 1;
    }
  }

  private async load(): Promise<void> {
    const wait = this.startedAt + SHORTEST_INTERVAL - performance.now();
    if (wait > 0 && this.failure !== undefined) throw this.unavailable(this.failure);
    if (wait > 0) await sleep(wait, undefined, { ref: false });
    this.startedAt = performance.now();
    const before = this.keySet?.jwks();
    try {
      this.keySet = await loadedKeySet(this.issuer, this.jwksUri);
    } catch (error) {
      const reason = error as Error;
      if (this.failure === undefined)
        this.logger.error(`The keys of ${this.issuer} cannot be loaded: ${reasonOf(reason)}`);
      this.failure = reason;
      throw this.unavailable(reason);
    }
    if (this.failure !== undefined) this.logger.log(`The keys of ${this.issuer} can be loaded again`);
    this.failure = undefined;
    if (before !== undefined && !isDeepStrictEqual(before, this.keySet.jwks())) this.onChange();
  }

  private unavailable(cause: Error): ApiError {
    return new ApiError(503, 'SERVICE_UNAVAILABLE', 'The keys of the token issuer cannot be loaded; try again', {
      headers: { 'retry-after': String(SHORTEST_INTERVAL / 1000) },
      cause: new Error(`The keys of ${this.issuer}: ${reasonOf(cause)}`),
    });
  }
}

/** Discovers the address for each load, because the provider may have moved its keys. */
export async function loadedKeySet(issuer: string, jwksUri?: URL): Promise<KeySet> {
  const address = jwksUri?.href ?? (await discoveredAddress(issuer));
  const keySet = createLocalJWKSet((await fetchDocument(address)) as unknown as JSONWebKeySet);
  // Without any valid public key, all tokens would be invalid.
  const isValid = (key: JsonWebKey): boolean => problemOf(() => createPublicKey({ key, format: 'jwk' })) === undefined;
  if (!keySet.jwks().keys.some(isValid)) throw new Error(`${address} has no valid public key`);
  return keySet;
}

/** The address of the key set in the discovery document of an issuer (OpenID Connect Discovery 1.0 section 4). */
async function discoveredAddress(issuer: string): Promise<string> {
  const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const { issuer: named, jwks_uri: uri } = await fetchDocument(address);
  if (named !== issuer) throw new Error(`${address} is about another issuer: ${JSON.stringify(named)}`);
  return providerUrl(String(uri)).href;
}

/** Fetches JSON of limited size, without redirects: only operator and issuer may name the address of the keys. */
async function fetchDocument(address: string): Promise<Record<string, unknown>> {
  try {
    const headers = { accept: 'application/json, application/jwk-set+json' };
    const response = await fetch(address, { headers, redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT) });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`the response is ${response.status}`);
    }
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      bytes += chunk.byteLength;
      if (bytes > LARGEST_DOCUMENT) throw new Error(`the response has more than ${LARGEST_DOCUMENT} bytes`);
      chunks.push(chunk);
    }
    return Object(await new Response(Buffer.concat(chunks)).json()) as Record<string, unknown>;
  } catch (error) {
    // With discovery, either document may have failed.
    throw new Error(`${address}: ${reasonOf(error as Error)}`, { cause: error });
  }
}
