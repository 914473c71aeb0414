import { createPublicKey, type KeyObject } from 'node:crypto';

/** The key that tokens are verified with. Its kind fixes the algorithms (RFC 8725 section 3.1). */
export interface PublicKey {
  readonly key: KeyObject;
  readonly algorithms: string[];
}

/** @throws {Error} for a private key, a key of another kind, and a short RSA key */
export function publicKey(pem: string): PublicKey {
  if (pem.includes('PRIVATE KEY')) throw new Error('holds a private key; give the service the public one only');
  let key: KeyObject;
  try {
    // In environment files, line ends of a PEM are often written as \n.
    key = createPublicKey(pem.replaceAll('\\n', '\n'));
  } catch {
    throw new Error('is not a PEM public key');
  }
  return { key, algorithms: algorithmsOf(key) };
}

function algorithmsOf(key: KeyObject): string[] {
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case 'rsa':
      if (modulusLength < 2048) {
        throw new Error(`must be an RSA key of at least 2048 bits (RFC 7518 section 3.3); it has ${modulusLength}`);
      }
      return ['RS256', 'PS256'];
    case 'ec':
      if (namedCurve !== 'prime256v1') throw new Error(`must be on the curve P-256 for ES256; it is on ${namedCurve}`);
      return ['ES256'];
    case 'ed25519':
      return ['EdDSA'];
    default:
      throw new Error(`must be an RSA, P-256 or Ed25519 key; it is ${key.asymmetricKeyType}`);
  }
}
