import { InvalidArgumentError } from 'commander';

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Parses a duration such as `30m`, and returns seconds. */
export function seconds(duration: string): number {
  const [, count, unit] = /^([1-9][0-9]{0,8})([smhd])$/.exec(duration) ?? [];
  if (count === undefined) throw new InvalidArgumentError('It must be a number above 0 with s, m, h or d, such as 1h.');
  return Number(count) * UNITS[unit!]!;
}
