import { PLATFORM_SETTINGS } from './platform-settings.js';
import { problemOf, type Setting, type ValuesOf } from './setting.js';
import { readTlsFiles } from './tls-files.js';
import { providerUrl } from './token-issuer.js';

export type PlatformValues = ValuesOf<typeof PLATFORM_SETTINGS>;

const { certFile, keyFile } = PLATFORM_SETTINGS.tls;
const { url: databaseUrl, sslCa } = PLATFORM_SETTINGS.database;
const { secret, previousSecret, publicKeys, jwksUri, issuer, audience, issuers } = PLATFORM_SETTINGS.jwt;

/** The settings with a key for the tokens of one issuer. Only one of them can be set. */
const KEYS = [secret, publicKeys, jwksUri];

/**
 * Checks the settings that depend on each other, and yields one line for each problem.
 * @param values wrong values are `undefined`
 * @param isSet tells whether the operator has set a variable, correctly or not
 */
export function* brokenRules(
  { environment, port, managementPort, tls, jwt, database: { url } }: PlatformValues,
  isSet: (setting: Setting) => boolean,
): Generator<string> {
  if (port && port === managementPort) {
    yield `PORT and MANAGEMENT_PORT are both ${port}; they must differ. Example: MANAGEMENT_PORT=3001`;
  }

  if (isSet(certFile) !== isSet(keyFile)) yield 'TLS_CERT_FILE and TLS_KEY_FILE must be set together';
  if (tls.certFile !== undefined && tls.keyFile !== undefined) {
    const problem = problemOf(() => readTlsFiles(tls.certFile!, tls.keyFile!));
    if (problem !== undefined) yield `TLS_KEY_FILE is wrong: ${problem}`;
  }

  if (isSet(sslCa) && url?.engine === 'postgres' && url.sslMode === 'disable') {
    const example = `${databaseUrl.name}=${databaseUrl.example}?sslmode=verify-full`;
    yield `${sslCa.name} has no effect without TLS. Example: ${example}`;
  }

  const [key, second] = KEYS.filter(isSet);
  if (second !== undefined) {
    yield `${key!.name} and ${second.name} are both set; set the one with the key of your tokens`;
  }
  if (isSet(previousSecret) && !isSet(secret)) yield 'JWT_SECRET must be set with JWT_SECRET_PREVIOUS';

  // Without a key, the discovery document of the issuer must name the keys.
  const isDiscovered = key === undefined && isSet(issuer);
  const source = isDiscovered ? issuer : [publicKeys, jwksUri].find(isSet);
  for (const needed of [issuer, audience].filter((setting) => source !== undefined && !isSet(setting))) {
    yield `${needed.name} must be set with ${source!.name}. Example: ${needed.name}=${needed.example}`;
  }
  const problem = isDiscovered ? problemOf(() => providerUrl(jwt.issuer!)) : undefined;
  if (problem !== undefined) yield `JWT_ISSUER ${problem}, or a key must be set. Example: JWT_ISSUER=${issuer.example}`;

  if (environment === 'production' && ![...KEYS, issuer, issuers].some(isSet)) {
    yield (
      'JWT_SECRET or JWT_PUBLIC_KEY must be set in production (or JWT_SECRET_FILE, JWT_PUBLIC_KEY_FILE), or JWT_ISSUER ' +
      'for an identity provider. Example: JWT_SECRET_FILE=/run/secrets/jwt_secret'
    );
  }
}
