import { Command } from 'commander';
import { UsageError } from '../command-errors.js';
import { NAMES } from '../resources/resources.js';
import { examples } from './examples.js';
import type { TokenOptions } from '../token.js';

export function tokenCommand(): Command {
  return new Command('token')
    .description('print a token signed with the configured secret (HS256)')
    .requiredOption('--sub <who>', 'who the token is for')
    .option(
      '--scope <scopes>',
      'what it allows, separated by spaces',
      NAMES.flatMap((name) => [`${name}:read`, `${name}:write`]).join(' '),
    )
    .option('--expires <time>', 'how long it is valid: 30s, 15m, 1h, 7d', seconds, 3600)
    .addHelpText(
      'after',
      examples('token --sub alice', `token --sub bob --scope "${NAMES[0] ?? 'orders'}:read" --expires 7d`),
    )
    .action(async (options: TokenOptions) => {
      const { printToken } = await import('../token.js');
      await printToken(options);
    });
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

function seconds(duration: string): number {
  const [, count, unit] = /^([1-9][0-9]{0,8})([smhd])$/.exec(duration) ?? [];
  if (count === undefined)
    throw new UsageError(`--expires must be a number with s, m, h or d, such as 1h; it is "${duration}"`);
  return Number(count) * UNITS[unit!]!;
}
