import type { Environment } from './variables.js';

/** What Kubernetes and Docker put into a container for a service named `cookies`, whatever variables the container has of its own. */
const SERVICE_LINK = /_(SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/;
const SERVICE_URL = /^(tcp|udp|sctp):\/\//;

/** In these families a longer or shorter form of a name is a near-miss, too: `JWT_SECRET_KEY`, `JWT_AUD`. */
const OWN_FAMILY = /^(COOKIES|JWT)_/;

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

/** The variables that are probably misspelt, each with the name that was probably meant. */
export function nearMisses(environment: Environment, known: ReadonlySet<string>): [name: string, meant: string][] {
  return Object.keys(environment)
    .filter((name) => !known.has(name) && !isServiceLink(name, environment))
    .flatMap((name) => {
      const meant = nearest(name, known);
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
  return nearestName ?? relative(name, known);
}

const lettersOf = (name: string): string => name.toUpperCase().replaceAll('_', '');

function allowedSlips({ length }: string): number {
  if (length < SHORTEST) return -1;
  return length < LONG ? 1 : 2;
}

/** The name of an own family that begins with this one, or that this one begins with; the longest of them. */
function relative(name: string, known: ReadonlySet<string>): string | undefined {
  if (!OWN_FAMILY.test(name)) return undefined;
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
