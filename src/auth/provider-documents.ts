import { providerUrl } from '../config/token-issuer.js';

/** Largest document of a provider in bytes. Key sets with certificates have some 20 KB. */
const LARGEST_DOCUMENT = 256 * 1024;

/** The types of public keys (RFC 7518 section 6.1, RFC 8037 section 2). */
const KEY_TYPES = new Set(['RSA', 'EC', 'OKP']);

/**
 * The address of the key set in the discovery document of an issuer (OpenID Connect Discovery 1.0 section 4).
 * @throws {Error} if there is no valid document
 */
export async function keySetAddress(issuer: string, signal: AbortSignal): Promise<URL> {
  const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const document = parsed(address, await fetchDocument(address, { signal }));
  if (document['issuer'] !== issuer) {
    throw new Error(`${address} is about another issuer: ${JSON.stringify(document['issuer'])}`);
  }
  return providerUrl(String(document['jwks_uri']));
}

/** Fetches a key set for jose, and rejects a document without any public key, which would make all tokens invalid. */
export async function fetchKeySet(address: string, options: RequestInit): Promise<Response> {
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
