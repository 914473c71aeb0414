import { JwtService } from '@nestjs/jwt';
import { LONGEST_NAME } from '../auth/principal.js';
import { signingOptions, signsTokens } from '../auth/token-key.js';
import { ConfigError, loadConfigFromProcess } from '../config/config.js';
import { SETTINGS } from '../features.js';
import { UsageError } from './command-errors.js';

export interface TokenOptions {
  readonly sub: string;
  readonly scope: string;
  /** Seconds from now. */
  readonly expires: number;
}

export async function printToken({ sub, scope, expires }: TokenOptions): Promise<void> {
  if (sub.length > LONGEST_NAME) {
    throw new UsageError(`--sub must have 1 to ${LONGEST_NAME} characters, or the service rejects the token`);
  }
  const config = loadConfigFromProcess(SETTINGS);
  if (!signsTokens(config)) {
    const cause = config.jwt.publicKeys === undefined ? 'JWT_SECRET is not set' : 'JWT_PUBLIC_KEY is set';
    throw new ConfigError([`${cause}: tokens are signed by their issuer`]);
  }
  const { scopeClaim, maxLifetime } = config.jwt;
  const most = `at most ${maxLifetime}s (JWT_MAX_LIFETIME)`;
  if (expires > maxLifetime) throw new UsageError(`--expires must be ${most}, or the service rejects the token`);
  // A path such as `realm.scope` names a nested claim.
  const claims = scopeClaim[0]!.reduceRight<unknown>((inner, name) => ({ [name]: inner }), scope) as object;
  const jwt = new JwtService(signingOptions(config));
  console.log(await jwt.signAsync(claims, { subject: sub, expiresIn: expires }));
}
