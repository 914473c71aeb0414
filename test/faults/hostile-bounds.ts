import type { Experience } from './good-client.js';

export interface Bounds {
  /** Maximum growth in megabytes from the start to the end of the attack. */
  readonly mostHeld?: number;
  /** Fewest requests of the good client, of a hundred, with the right response; default: all. */
  readonly fewestAnswered?: number;
  /** The largest ratio of memory after the attack to memory before it; default: `MOST_GROWTH`. */
  readonly mostGrowth?: number;
  /** The largest ratio of the good client's p99 during the attack to its p99 before; default: `MOST_SLOWDOWN`. */
  readonly mostSlowdown?: number;
}

/** The measurements of one attack. Memory is in MB; `NaN` means that it could not be measured. */
export interface AttackResult {
  readonly name: string;
  /** How the process ended; absent while it runs. */
  readonly death?: string;
  /** Number of failed readiness checks, of four in a second. */
  readonly notReady: number;
  readonly quiet: Experience;
  readonly underAttack: Experience;
  readonly startMegabytes: number;
  readonly peakMegabytes: number;
  /** Memory one second before the end of the attack. */
  readonly heldMegabytes: number;
  readonly bounds: Bounds;
  readonly endMegabytes: number;
  /** Files, sockets and pipes, without the database file. */
  readonly startDescriptors: number;
  readonly endDescriptors: number;
  /** Descriptors of the database file after the attack. */
  readonly databaseDescriptors: number;
  readonly sent: Record<string, number>;
  readonly requestLines: number;
  /** Requests without exactly one line in the log, although they were answered or have stored something. */
  readonly withoutLine: number;
}

const MOST_MEGABYTES = 400;
const MOST_GROWTH = 1.2;
const MOST_SLOWDOWN = 3;
const MOST_DESCRIPTORS = 5;
/** The file and the WAL of all snapshots and other connections. SQLite reuses descriptors of closed connections. */
const MOST_DATABASE_DESCRIPTORS = 2 * (80 + 4);

/** The bounds that an attack has broken, as text. */
export function brokenBounds(result: AttackResult): string[] {
  const { death, notReady, quiet, underAttack, withoutLine, bounds } = result;
  const { mostHeld = Infinity, fewestAnswered = 100, mostGrowth = MOST_GROWTH, mostSlowdown = MOST_SLOWDOWN } = bounds;
  if (death !== undefined) return [death];
  const slowdown = underAttack.p99 / quiet.p99;
  const growth = result.endMegabytes / result.startMegabytes;
  const descriptors = result.endDescriptors - result.startDescriptors;
  const held = result.heldMegabytes - result.startMegabytes;
  return [
    notReady > 0 && `not ready ${notReady} times`,
    result.peakMegabytes > MOST_MEGABYTES && `${result.peakMegabytes.toFixed(0)} MB`,
    held > mostHeld && `${held.toFixed(0)} MB held`,
    growth > mostGrowth && `${growth.toFixed(2)} times its memory left`,
    slowdown > mostSlowdown && `p99 ${slowdown.toFixed(1)} times the quiet one`,
    answeredOf100(underAttack) < fewestAnswered &&
      `${underAttack.failed} requests failed (${underAttack.firstFailure})`,
    Math.abs(descriptors) > MOST_DESCRIPTORS && `${descriptors} descriptors more than before`,
    result.databaseDescriptors > MOST_DATABASE_DESCRIPTORS &&
      `${result.databaseDescriptors} descriptors of the database file`,
    withoutLine > 0 && `${withoutLine} requests without exactly one line`,
  ].filter((broken) => typeof broken === 'string');
}

const answeredOf100 = ({ requests, failed }: Experience): number => (100 * (requests - failed)) / requests;

export function lineOf(result: AttackResult): string {
  const { name, quiet, underAttack, sent, notReady, requestLines, withoutLine } = result;
  const { startMegabytes, peakMegabytes, heldMegabytes, endMegabytes } = result;
  const megabytes = [startMegabytes, peakMegabytes, heldMegabytes, endMegabytes].map((each) => each.toFixed(0));
  return [
    `${name}: ${brokenBounds(result).join('; ') || 'within all bounds'}`,
    `not ready ${notReady}`,
    `MB at start, peak, held, after ${megabytes.join(' ')}`,
    `descriptors ${result.startDescriptors} -> ${result.endDescriptors}, ${result.databaseDescriptors} of the database`,
    `p50 ${quiet.p50.toFixed(1)} -> ${underAttack.p50.toFixed(1)} ms`,
    `p99 ${quiet.p99.toFixed(1)} -> ${underAttack.p99.toFixed(1)} ms`,
    `failed ${underAttack.failed} of ${underAttack.requests}`,
    `attackers' connections ${sent['connections'] ?? '?'}, requests ${sent['requests'] ?? '?'}`,
    `lines ${requestLines}, missing ${withoutLine}`,
  ].join(', ');
}
