import type { Environment } from './setting.js';

/** What Kubernetes and Docker put into a container for a service of any name, whatever variables the container has of its own. */
const SERVICE_LINK = /_(SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/;
const SERVICE_URL = /^(tcp|udp|sctp):\/\//;

/** Shorter names, without underscores, have no near-misses: `HOME` is not a misspelt `HOST`. */
const SHORTEST = 7;
/** From this length on two slips are still recognized. */
const LONG = 12;

/**
 * Whether a variable was set by the container runtime for a service of this name, and not by an operator
 * (https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables). `MANAGEMENT_PORT` can be both.
 */
export function isServiceLink(name: string, environment: Environment): boolean {
  if (SERVICE_LINK.test(name)) return true;
  return name.endsWith('_PORT') && SERVICE_URL.test(environment[name] ?? '');
}

/**
 * The variables that are probably misspelt, each with the name that was probably meant.
 * @param families first words of names that are this service's alone: in `JWT_...`, a longer or shorter form of a name is a
 * near-miss, too, such as `JWT_SECRET_KEY` and `JWT_AUD`
 */
export function nearMisses(
  environment: Environment,
  known: ReadonlySet<string>,
  families: ReadonlySet<string>,
): [name: string, meant: string][] {
  return Object.keys(environment)
    .filter((name) => !known.has(name) && !isServiceLink(name, environment))
    .flatMap((name) => {
      const meant = nearest(name, known) ?? relative(name, known, families);
      return meant === undefined ? [] : [[name, meant] as [string, string]];
    });
}

function nearest(name: string, known: ReadonlySet<string>): string | undefined {
  const letters = lettersOf(name);
  let nearestName: string | undefined;
  let least = Infinity;
  for (const candidate of known) {
    const target = lettersOf(candidate);
    const distance = editDistance(letters, target, allowedSlips(target));
    if (distance < least) [nearestName, least] = [candidate, distance];
  }
  return nearestName;
}

/** The first word of a variable's name. */
export const familyOf = (name: string): string => name.split('_')[0]!;

const lettersOf = (name: string): string => name.toUpperCase().replaceAll('_', '');

function allowedSlips({ length }: string): number {
  if (length < SHORTEST) return -1;
  return length < LONG ? 1 : 2;
}

/** The name of a family that begins with this one, or that this one begins with; the longest of them. */
function relative(name: string, known: ReadonlySet<string>, families: ReadonlySet<string>): string | undefined {
  if (!name.includes('_') || !families.has(familyOf(name))) return undefined;
  return [...known]
    .filter((candidate) => candidate.startsWith(name) || name.startsWith(`${candidate}_`))
    .sort((a, b) => b.length - a.length)[0];
}

/**
 * Letters to insert, remove, replace or swap with their neighbor to make one of the other (optimal string alignment).
 * @returns `Infinity` when it is more than `limit`
 */
function editDistance(from: string, to: string, limit: number): number {
  if (Math.abs(from.length - to.length) > limit) return Infinity;
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= from.length; row++) {
    rows[row] = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = rows[row - 1]![column - 1]! + (from[row - 1] === to[column - 1] ? 0 : 1);
      const isSwap = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const swapped = isSwap ? rows[row - 2]![column - 2]! + 1 : Infinity;
      rows[row]![column] = Math.min(rows[row - 1]![column]! + 1, rows[row]![column - 1]! + 1, replaced, swapped);
    }
  }
  const distance = rows[from.length]![to.length]!;
  return distance <= limit ? distance : Infinity;
}
