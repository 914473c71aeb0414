import { createPublicKey, type KeyObject } from 'node:crypto';
import { claimPaths, text } from './parse.js';
import { type Parse, withMessage } from './setting.js';

/** A key that verifies tokens. The type of the key determines its algorithms (RFC 8725 section 3.1). */
export interface PublicKey {
  readonly key: KeyObject;
  readonly algorithms: string[];
}

/** An identity provider in `JWT_ISSUERS`. */
interface TokenIssuer {
  readonly issuer: string;
  readonly audience: string;
  readonly scopeClaim: string[][];
  /** Address of the key set; absent if the discovery document of the issuer names it. */
  readonly jwksUri?: URL;
}

const PEM = /-----BEGIN [^-]+-----.*?-----END [^-]+-----/gs;
const MOST_KEYS = 5;
const MOST_ISSUERS = 20;

export const publicKeys: Parse<PublicKey[]> = (value) => {
  if (value.includes('PRIVATE KEY')) throw new Error('holds a private key; give the service only the public key');
  // In environment files, line ends of a PEM are often written as \n.
  const blocks = value.replaceAll('\\n', '\n').match(PEM) ?? [];
  if (blocks.length === 0) throw new Error('is not a PEM public key');
  if (blocks.length > MOST_KEYS) throw new Error(`must have at most ${MOST_KEYS} keys; it has ${blocks.length}`);
  return blocks.map((pem) => {
    const key = withMessage('is not a PEM public key', () => createPublicKey(pem));
    return { key, algorithms: algorithmsOf(key) };
  });
};

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

const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);

/** The address of an identity provider: https, or http on this machine. */
export const providerUrl: Parse<URL> = (value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.has(url.hostname));
  if (url === undefined || !isSafe || url.username !== '') {
    throw new Error('must be an https: URL, because an attacker who replaces the keys on the way can make tokens');
  }
  return url;
};

export const tokenIssuers: Parse<TokenIssuer[]> = (value) => {
  const list = withMessage('is not JSON', () => JSON.parse(value) as unknown);
  if (!Array.isArray(list) || list.length === 0 || list.length > MOST_ISSUERS) {
    throw new Error(`must be a JSON array of 1 to ${MOST_ISSUERS} issuers`);
  }
  const issuers = list.map(tokenIssuer);
  const names = issuers.map(({ issuer }) => issuer);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`has the issuer ${twice} twice`);
  return issuers;
};

function tokenIssuer(item: unknown): TokenIssuer {
  const { issuer, audience, scopeClaim = 'scope', jwksUri, ...others } = Object(item) as Record<string, unknown>;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw new Error(`has the unknown property "${unknown}"; there are issuer, audience, scopeClaim and jwksUri`);
  }
  if (!isText(issuer) || !isText(audience) || !isText(scopeClaim) || !(jwksUri === undefined || isText(jwksUri))) {
    throw new Error('must have an issuer and an audience in every object; each property is a string');
  }
  // Without an address of keys, the issuer is the address of the discovery document.
  const address = providerUrl(isText(jwksUri) ? jwksUri : issuer);
  return {
    issuer: text(issuer),
    audience: text(audience),
    scopeClaim: claimPaths(scopeClaim),
    ...(jwksUri !== undefined && { jwksUri: address }),
  };
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
