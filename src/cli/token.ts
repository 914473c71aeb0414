import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { JwtService } from '@nestjs/jwt';
import { tokenSecret } from '../auth/token-key.js';
import { ConfigError, loadConfigFromProcess } from '../config/config.js';

const USAGE = `Prints a token signed with the configured secret (HS256).

  npm run --silent token -- --sub alice --scope "cookies:read cookies:write" --expires 1h

  --sub      who the token is for                     (required)
  --scope    what it allows, separated by spaces      (default: "cookies:read cookies:write")
  --expires  how long it is valid: 30s, 15m, 1h, 7d   (default: 1h)`;

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

class UsageError extends Error {}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        sub: { type: 'string' },
        scope: { type: 'string', default: 'cookies:read cookies:write' },
        expires: { type: 'string', default: '1h' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    return values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

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

function token(): string {
  const { sub, scope, expires, help } = readOptions();
  if (help) return USAGE;
  if (!sub) throw new UsageError('--sub is missing');
  const expiresIn = seconds(expires);
  const config = loadConfigFromProcess();
  const secret = tokenSecret(config);
  if (secret === undefined) {
    throw new ConfigError(['JWT_PUBLIC_KEY is set: tokens are signed with its private half, by whoever issues them']);
  }
  const { issuer, audience, scopeClaim } = config.jwt;
  const jwt = new JwtService({
    secret,
    signOptions: { algorithm: 'HS256', expiresIn, ...(issuer && { issuer }), ...(audience && { audience }) },
  });
  return jwt.sign({ sub, ...claimAt(scopeClaim, scope) });
}

try {
  console.log(token());
} catch (error) {
  if (error instanceof UsageError) {
    console.error(`${error.message}\n\n${USAGE}`);
    process.exit(2);
  }
  console.error(error instanceof ConfigError ? error.message : error);
  process.exit(1);
}
