import { PLATFORM_SETTINGS } from './platform-settings.js';
import type { Setting, ValuesOf } from './setting.js';

export type PlatformValues = ValuesOf<typeof PLATFORM_SETTINGS>;

/**
 * A rule for several settings. It returns one line for each violation.
 * @param values wrong values are `undefined`
 * @param isSet tells whether the operator has set a variable, correctly or not
 */
type Rule = (values: PlatformValues, isSet: (setting: Setting) => boolean) => string[];

const { secret, publicKey, issuer, audience } = PLATFORM_SETTINGS.jwt;

export const RULES: readonly Rule[] = [
  ({ port, managementPort }) =>
    port && port === managementPort
      ? [`PORT and MANAGEMENT_PORT are both ${port}; they must differ. Example: MANAGEMENT_PORT=3001`]
      : [],

  (_values, isSet) =>
    isSet(secret) && isSet(publicKey)
      ? ['JWT_SECRET and JWT_PUBLIC_KEY are both set; set the one that your tokens are signed for']
      : [],

  (_values, isSet) =>
    [issuer, audience]
      .filter((setting) => isSet(publicKey) && !isSet(setting))
      .map(({ name, example }) => `${name} must be set with JWT_PUBLIC_KEY. Example: ${name}=${example}`),

  ({ environment }, isSet) =>
    environment === 'production' && !isSet(secret) && !isSet(publicKey)
      ? [
          'JWT_SECRET or JWT_PUBLIC_KEY must be set in production (or JWT_SECRET_FILE, JWT_PUBLIC_KEY_FILE). ' +
            'Example: JWT_SECRET_FILE=/run/secrets/jwt_secret',
        ]
      : [],
];
