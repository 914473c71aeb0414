import { CLOCK_SKEW, revoke } from '../auth/revoked-tokens.js';
import { loadConfigFromProcess } from '../config/config.js';
import { SETTINGS } from '../features.js';
import { Failure, UsageError } from './command-errors.js';
import { openConfiguredDatabase } from './resources/open-storage.js';

export interface RevokeOptions {
  readonly jti?: string;
  readonly sub?: string;
  readonly issuer?: string;
}

export async function revokeTokens({ jti, sub, issuer }: RevokeOptions): Promise<void> {
  const value = jti ?? sub;
  if (value === undefined || (jti !== undefined && sub !== undefined)) {
    throw new UsageError('give either --jti or --sub');
  }
  const claim = jti === undefined ? 'sub' : 'jti';
  const config = loadConfigFromProcess(SETTINGS);
  await using dataSource = await openConfiguredDatabase(config);
  const revocation = { claim, value, issuer, lifetime: config.jwt.maxLifetime } as const;
  const revoked = await revoke(dataSource, revocation).catch((error: unknown) => {
    throw new Failure((error as Error).message);
  });
  const until = new Date((revoked + CLOCK_SKEW) * 1000).toISOString().slice(0, 19);
  const tokens =
    claim === 'jti'
      ? `The token with the jti ${value}`
      : `Every token of ${value} issued until ${until}Z (with ${CLOCK_SKEW} s for clocks that differ)`;
  console.log(`${tokens} is rejected within 5 s, by all processes of the service on this database.`);
}
