import { createSecretKey } from 'node:crypto';
import type { Config } from '../config/config.js';
import type { PublicKey } from '../config/token-issuer.js';
import { RemoteKeys } from './remote-keys.js';
import { type TokenKeys, tokenSecret } from './token-key.js';

export interface TrustedIssuer {
  /** Absent: tokens of any issuer. */
  readonly issuer?: string;
  readonly audience?: string;
  /** Paths of the claims with scopes. */
  readonly scopeClaim: readonly (readonly string[])[];
  readonly keys: TokenKeys;
}

const configuredKeys = (keys: readonly PublicKey[]): TokenKeys => ({
  candidates: ({ alg }) => keys.filter(({ algorithms }) => algorithms.includes(alg)).map(({ key }) => key),
});

/**
 * All configured issuers. The issuer outside `JWT_ISSUERS` comes last, because it may accept every `iss`.
 * @param onChange called when a provider has changed its keys
 */
export function trustedIssuers(config: Config, onChange: () => void): TrustedIssuer[] {
  const { issuer, audience, scopeClaim, issuers = [] } = config.jwt;
  const keys = keysOfSingleIssuer(config, onChange);
  return [
    ...issuers.map((one) => ({ ...one, keys: new RemoteKeys(one.issuer, one.jwksUri, onChange) })),
    ...(keys === undefined ? [] : [{ issuer, audience, scopeClaim, keys }]),
  ];
}

function keysOfSingleIssuer(config: Config, onChange: () => void): TokenKeys | undefined {
  const { previousSecret, publicKeys, jwksUri, issuer } = config.jwt;
  if (publicKeys !== undefined) return configuredKeys(publicKeys);
  const secret = tokenSecret(config);
  if (secret === undefined) return issuer === undefined ? undefined : new RemoteKeys(issuer, jwksUri, onChange);
  const secrets = [secret, previousSecret].filter((text) => text !== undefined);
  return configuredKeys(secrets.map((text) => ({ key: createSecretKey(Buffer.from(text)), algorithms: ['HS256'] })));
}
