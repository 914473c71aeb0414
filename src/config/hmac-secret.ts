import { createPublicKey } from 'node:crypto';
import { problemOf } from './setting.js';

/** Shortest secret in bytes (RFC 7518 section 3.2). Repetitions do not count. */
const SHORTEST = 32;

const REMEDY = 'use the output of `openssl rand -base64 32`';

/** Texts of secrets that are examples in documents and tools, and so are public. */
const PLACEHOLDER =
  /change.?(me|this|it)|replace.?(me|this|it)|placeholder|your.{0,12}secret|a-string-secret-at-least|a random text of/i;

/**
 * Checks the secret of HS256 tokens.
 * @throws {Error} with the reason why others may know or guess it. The message does not repeat the secret.
 */
export function hmacSecret(value: string): string {
  const bytes = Buffer.from(value);
  const rule = `must have at least ${SHORTEST} bytes for HS256 (RFC 7518 section 3.2)`;
  if (bytes.length < SHORTEST) throw new Error(`${rule}; it has ${bytes.length}; ${REMEDY}`);
  const known = 'is the text of a key or certificate, which others may have';
  if (isKeyFile(value)) throw new Error(`${known}; set a public key in JWT_PUBLIC_KEY, or ${REMEDY}`);
  if (PLACEHOLDER.test(value)) throw new Error(`is a placeholder that everyone can guess; ${REMEDY}`);
  const unit = repeatedUnit(bytes);
  const part = unit === 1 ? 'byte' : `${unit} bytes`;
  if (unit < SHORTEST) throw new Error(`repeats its first ${part}, and is no more secret than that; ${REMEDY}`);
  return value;
}

/** Finds PEM (plain or in base64), OpenSSH, a JSON Web Key, and a public key in base64 or hexadecimal. */
function isKeyFile(value: string): boolean {
  const text = value.trim();
  if (/-----BEGIN |^LS0tLS1CRUdJTi|^(ssh|ecdsa)-[a-z0-9-]+ |^\{.*"kty"/s.test(text)) return true;
  return isPublicKey(Buffer.from(text, 'base64')) || isPublicKey(Buffer.from(text.replaceAll(/[\s:]/g, ''), 'hex'));
}

function isPublicKey(key: Buffer): boolean {
  return problemOf(() => createPublicKey({ key, format: 'der', type: 'spki' })) === undefined;
}

/** The length of the shortest part that the value repeats; its whole length without a repetition. */
function repeatedUnit(bytes: Buffer): number {
  for (let unit = 1; unit <= bytes.length / 2; unit++) {
    if (bytes.subarray(unit).equals(bytes.subarray(0, -unit))) return unit;
  }
  return bytes.length;
}
