import { constants, createHmac, type KeyObject, sign } from 'node:crypto';
import { expectError } from '../support/expect-error.js';
import { type Answer, Client, SECRET, type Endpoint } from '../support/service.js';

// The tests build tokens by hand, because a library refuses to make most tokens that the service must reject.

export type Signature = (input: string) => Buffer;

export const hmac =
  (hash: string, secret: string | Buffer): Signature =>
  (input) =>
    createHmac(hash, secret).update(input).digest();

const signed =
  (hash: string | null, key: KeyObject, options: object = {}): Signature =>
  (input) =>
    sign(hash, Buffer.from(input), { key, ...options });

const { RSA_PKCS1_PSS_PADDING: padding, RSA_PSS_SALTLEN_DIGEST: saltLength } = constants;
export const rsa = (hash: string, key: KeyObject): Signature => signed(hash, key);
export const pss = (hash: string, key: KeyObject): Signature => signed(hash, key, { padding, saltLength });
export const ecdsa = (hash: string, key: KeyObject, dsaEncoding: 'ieee-p1363' | 'der' = 'ieee-p1363'): Signature =>
  signed(hash, key, { dsaEncoding });
export const eddsa = (key: KeyObject): Signature => signed(null, key);

export const unsigned: Signature = () => Buffer.alloc(0);

export const HS256 = { alg: 'HS256' };
const withSecret = hmac('sha256', SECRET);

/** A part of a token; a string and bytes are encoded unchanged. */
export const encoded = (value: unknown): string =>
  (value instanceof Uint8Array
    ? Buffer.from(value)
    : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
  ).toString('base64url');

/** A compact JWS with any header and payload, valid JSON or not. */
export function jws(header: unknown, payload: unknown, signature: Signature = withSecret): string {
  const input = `${encoded(header)}.${encoded(payload)}`;
  return `${input}.${signature(input).toString('base64url')}`;
}

export const now = (): number => Math.floor(Date.now() / 1000);
export const BOTH = 'cookies:read cookies:write';

/** Valid claims with changes; `undefined` removes a claim. */
export function claims(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return { sub: 'alice', scope: BOTH, exp: now() + 3600, ...changes };
}

/** Sends `GET /cookies` with a token in the scheme Bearer. */
export function list(service: Endpoint, token: string): Promise<Answer> {
  return Client.bearing(service, token).get('/cookies');
}

export function expectInvalidToken(answer: Answer): void {
  expectError(answer, 401, 'INVALID_TOKEN');
  expect(answer.headers.get('www-authenticate')).toMatch(
    /^Bearer realm="cookies", error="invalid_token"(, error_description="[^"\\]*")?$/,
  );
}
