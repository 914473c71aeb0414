import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { createRemoteJWKSet, type CryptoKey, customFetch, errors, type JWTHeaderParameters } from 'jose';
import { providerUrl } from '../config/token-issuer.js';
import { ApiError } from '../http/errors/api-error.js';
import { reasonOf } from '../http/errors/error-log.js';
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

/** The types of public keys (RFC 7518 section 6.1, RFC 8037 section 2). */
const KEY_TYPES = new Set(['RSA', 'EC', 'OKP']);

type RemoteKeySet = ReturnType<typeof createRemoteJWKSet>;

export interface RemoteKeysOptions {
  readonly issuer: string;
  /** Address of the key set; absent: it is in the discovery document of the issuer. */
  readonly jwksUri?: URL;
  readonly onChange: () => void;
}

/**
 * The public keys of an identity provider, kept in memory. During an outage of the provider the known keys keep
 * working; tokens with other keys are 503, because they may be valid.
 */
export class RemoteKeys implements TokenKeys {
  private readonly logger = new Logger('Auth');
  private readonly stopping = new AbortController();
  private keySet?: RemoteKeySet;
  private known = '';
  /** The load in progress. */
  private current?: Promise<void>;
  /** A load that has not begun. */
  private next?: Promise<void>;
  private startedAt = -Infinity;
  private failure?: Error;

  constructor(private readonly options: RemoteKeysOptions) {}

  /** Loads the keys now and at intervals, until `stop`. */
  start(): void {
    void this.refresh();
  }

  stop(): void {
    this.stopping.abort();
  }

  /**
   * Yields the known keys that may have signed a token, then newly published ones. A token with an unknown key id waits
   * for one more load. A token that no known key has signed waits only if the last load is over 5 s old: its key may
   * have replaced another key with the same id.
   * @throws {ApiError} 503 if the keys cannot be loaded
   */
  async *candidates(header: JWTHeaderParameters): AsyncGenerator<CryptoKey, undefined> {
    if (!ALGORITHMS.test(header.alg)) return;
    if (this.known === '') await (this.current ?? this.loadAgain());
    const { known } = this;
    const found = await this.matching(header);
    yield* found;
    if (found.length > 0 && performance.now() < this.startedAt + SHORTEST_INTERVAL) return;
    await this.loadAgain();
    if (this.known !== known) yield* await this.matching(header);
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

  /** Loads the keys once for all waiting callers, after the load in progress, which may lack new keys. */
  private loadAgain(): Promise<void> {
    const wait = this.startedAt + SHORTEST_INTERVAL - performance.now();
    if (this.failure !== undefined && wait > 0) throw this.unavailable(this.failure);
    this.next ??= this.loadAfter(wait);
    return this.next;
  }

  private async loadAfter(milliseconds: number): Promise<void> {
    try {
      // If the load in progress fails, the provider is not asked again immediately.
      await this.current;
      await sleep(Math.max(0, milliseconds), undefined, { signal: this.stopping.signal });
    } finally {
      this.next = undefined;
    }
    await this.load();
  }

  private load(): Promise<void> {
    this.startedAt = performance.now();
    this.current = this.loadNow().finally(() => (this.current = undefined));
    return this.current;
  }

  private async loadNow(): Promise<void> {
    const { issuer, onChange } = this.options;
    try {
      const keySet = await this.currentKeySet();
      await keySet.reload();
      this.keySet = keySet;
    } catch (error) {
      if (this.failure === undefined)
        this.logger.error(`The keys of ${issuer} cannot be loaded: ${reasonOf(error as Error)}`);
      this.failure = error as Error;
      throw this.unavailable(this.failure);
    }
    if (this.failure !== undefined) this.logger.log(`The keys of ${issuer} are loaded again`);
    this.failure = undefined;
    const before = this.known;
    this.known = JSON.stringify(this.keySet.jwks());
    if (before !== '' && before !== this.known) onChange();
  }

  /** Discovers the address for each load, because the provider may have moved its keys; otherwise the last one counts. */
  private async currentKeySet(): Promise<RemoteKeySet> {
    const last = this.keySet;
    if (last === undefined) return this.newKeySet();
    return this.options.jwksUri === undefined ? this.newKeySet().catch(() => last) : last;
  }

  private async newKeySet(): Promise<RemoteKeySet> {
    const { issuer, jwksUri } = this.options;
    return createRemoteJWKSet(jwksUri ?? (await keySetAddress(issuer, AbortSignal.timeout(TIMEOUT))), {
      [customFetch]: fetchKeySet,
      timeoutDuration: TIMEOUT,
      // This class decides when to load.
      cacheMaxAge: Infinity,
      cooldownDuration: Infinity,
    });
  }

  private async refresh(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await this.load().catch(() => {});
      const interval = this.failure === undefined ? REFRESH_INTERVAL : SHORTEST_INTERVAL;
      await sleep(interval, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  private unavailable(cause: Error): ApiError {
    const wait = Math.ceil((this.startedAt + SHORTEST_INTERVAL - performance.now()) / 1000);
    return new ApiError(503, 'SERVICE_UNAVAILABLE', 'The keys of the token issuer cannot be loaded; try again', {
      headers: { 'retry-after': String(Math.max(1, wait)) },
      cause: new Error(`The keys of ${this.options.issuer}: ${reasonOf(cause)}`),
    });
  }
}

/**
 * The address of the key set in the discovery document of an issuer (OpenID Connect Discovery 1.0 section 4).
 * @throws {Error} if there is no valid document
 */
async function keySetAddress(issuer: string, signal: AbortSignal): Promise<URL> {
  const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const document = parsed(address, await fetchDocument(address, { signal }));
  if (document['issuer'] !== issuer) {
    throw new Error(`${address} is about another issuer: ${JSON.stringify(document['issuer'])}`);
  }
  return providerUrl(String(document['jwks_uri']));
}

/** Fetches a key set for jose, and rejects a document without any public key, which would make all tokens invalid. */
async function fetchKeySet(address: string, options: RequestInit): Promise<Response> {
  const text = await fetchDocument(address, options);
  const { keys } = parsed(address, text);
  if (!Array.isArray(keys) || !keys.some(isPublicKey)) {
    throw new Error(`${address} has no public key`);
  }
  return new Response(text);
}

function isPublicKey(key: unknown): boolean {
  const { kty } = Object(key) as Record<string, unknown>;
  return typeof kty === 'string' && KEY_TYPES.has(kty);
}

/** Follows no redirect: only the operator and the issuer may name the address of the keys. */
async function fetchDocument(address: string, options: RequestInit): Promise<string> {
  const response = await fetch(address, { ...options, redirect: 'manual' });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`${address} responded with ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > LARGEST_DOCUMENT) throw new Error(`${address} sends more than ${LARGEST_DOCUMENT} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function parsed(address: string, text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    throw new Error(`${address} does not send JSON`);
  }
}
