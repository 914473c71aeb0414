import { Command } from 'commander';
import { JwtService } from '@nestjs/jwt';
import { tokenSecret } from '../auth/token-key.js';
import { ConfigError, loadConfigFromProcess } from '../config/config.js';
import { UsageError } from './errors.js';
import { examples } from './examples.js';

interface TokenOptions {
  readonly sub: string;
  readonly scope: string;
  readonly expires: number;
}

export function tokenCommand(): Command {
  return new Command('token')
    .description('print a token signed with the configured secret (HS256)')
    .requiredOption('--sub <who>', 'who the token is for')
    .option('--scope <scopes>', 'what it allows, separated by spaces', 'cookies:read cookies:write')
    .option('--expires <time>', 'how long it is valid: 30s, 15m, 1h, 7d', seconds, 3600)
    .addHelpText('after', examples('token --sub alice', 'token --sub bob --scope "cookies:read" --expires 7d'))
    .action((options: TokenOptions) => console.log(token(options)));
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

function seconds(duration: string): number {
  const [, count, unit] = /^([1-9][0-9]{0,8})([smhd])$/.exec(duration) ?? [];
  if (count === undefined)
    throw new UsageError(`--expires must be a number with s, m, h or d, such as 1h; it is "${duration}"`);
  return Number(count) * UNITS[unit!]!;
}

/** Sets a claim that may lie inside others, as the verifier will look for it. */
function claimAt(path: readonly string[], value: unknown): object {
  return path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object;
}

function token({ sub, scope, expires: expiresIn }: TokenOptions): string {
  if (sub === '') throw new UsageError('--sub is empty');
  const config = loadConfigFromProcess();
  const secret = tokenSecret(config);
  if (secret === undefined) {
    throw new ConfigError(['JWT_PUBLIC_KEY is set: tokens are signed with its private half, by whoever issues them']);
  }
  const { issuer, audience, scopeClaim, maxLifetime } = config.jwt;
  if (expiresIn > maxLifetime) {
    throw new UsageError(
      `--expires must be at most ${maxLifetime}s (JWT_MAX_LIFETIME), or the service rejects the token`,
    );
  }
  const jwt = new JwtService({
    secret,
    signOptions: { algorithm: 'HS256', expiresIn, ...(issuer && { issuer }), ...(audience && { audience }) },
  });
  return jwt.sign({ sub, ...claimAt(scopeClaim, scope) });
}
