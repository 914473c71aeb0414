import { PLATFORM_SETTINGS } from './platform-settings.js';
import type { Setting, ValuesOf } from './setting.js';
import { readTlsFiles } from './tls-files.js';
import { providerUrl } from './token-issuer.js';

export type PlatformValues = ValuesOf<typeof PLATFORM_SETTINGS>;

/**
 * A rule for several settings. It returns one line for each violation.
 * @param values wrong values are `undefined`
 * @param isSet tells whether the operator has set a variable, correctly or not
 */
type Rule = (values: PlatformValues, isSet: (setting: Setting) => boolean) => string[];

const { secret, previousSecret, publicKeys, jwksUri, issuer, audience, issuers } = PLATFORM_SETTINGS.jwt;

/** The settings with a key for the tokens of one issuer. Only one of them can be set. */
const KEYS = [secret, publicKeys, jwksUri];

export const RULES: readonly Rule[] = [
  ({ port, managementPort }) =>
    port && port === managementPort
      ? [`PORT and MANAGEMENT_PORT are both ${port}; they must differ. Example: MANAGEMENT_PORT=3001`]
      : [],

  ({ tls: { certFile, keyFile } }, isSet) => {
    const { tls } = PLATFORM_SETTINGS;
    if (isSet(tls.certFile) !== isSet(tls.keyFile)) return ['TLS_CERT_FILE and TLS_KEY_FILE must be set together'];
    return certFile === undefined || keyFile === undefined ? [] : tlsProblems(certFile, keyFile);
  },

  (_values, isSet) => {
    const [first, second] = KEYS.filter(isSet);
    return second === undefined
      ? []
      : [`${first!.name} and ${second.name} are both set; set the one with the key of your tokens`];
  },

  (_values, isSet) =>
    isSet(previousSecret) && !isSet(secret) ? [`JWT_SECRET must be set with JWT_SECRET_PREVIOUS`] : [],

  (_values, isSet) => {
    const key = [publicKeys, jwksUri].find(isSet);
    return [issuer, audience]
      .filter((setting) => key !== undefined && !isSet(setting))
      .map(({ name, example }) => `${name} must be set with ${key!.name}. Example: ${name}=${example}`);
  },

  (values, isSet) => (isSet(issuer) && !KEYS.some(isSet) ? discoveryProblems(values, isSet(audience)) : []),

  ({ environment }, isSet) =>
    environment === 'production' && ![...KEYS, issuer, issuers].some(isSet)
      ? [
          'JWT_SECRET or JWT_PUBLIC_KEY must be set in production (or JWT_SECRET_FILE, JWT_PUBLIC_KEY_FILE), or JWT_ISSUER ' +
            'for an identity provider. Example: JWT_SECRET_FILE=/run/secrets/jwt_secret',
        ]
      : [],
];

function tlsProblems(certFile: string, keyFile: string): string[] {
  try {
    readTlsFiles(certFile, keyFile);
    return [];
  } catch (error) {
    return [`TLS_KEY_FILE is wrong: ${(error as Error).message}`];
  }
}

/** Problems of a JWT_ISSUER without a key: its discovery document must name the keys. */
function discoveryProblems({ jwt }: PlatformValues, hasAudience: boolean): string[] {
  const problems = hasAudience
    ? []
    : [`JWT_AUDIENCE must be set with JWT_ISSUER. Example: JWT_AUDIENCE=${audience.example}`];
  try {
    providerUrl(jwt.issuer!);
  } catch (error) {
    problems.push(
      `JWT_ISSUER ${(error as Error).message}, or a key must be set. Example: JWT_ISSUER=${issuer.example}`,
    );
  }
  return problems;
}
