import type { Environment } from './setting.js';

/** Names of the variables that Kubernetes and Docker set in a container, one group for each service of the cluster. */
const SERVICE_LINK = /_(SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/;
const SERVICE_URL = /^(tcp|udp|sctp):\/\//;

/** Shortest name without underscores that can be misspelt: `HOME` is not a misspelt `HOST`. */
const SHORTEST = 7;
/** Shortest name that may have two slips. */
const LONG = 12;

/**
 * Tells whether the container runtime has set a variable for a service of this name
 * (https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables). `MANAGEMENT_PORT` may also
 * come from an operator.
 */
export function isServiceLink(name: string, environment: Environment): boolean {
  if (SERVICE_LINK.test(name)) return true;
  return name.endsWith('_PORT') && SERVICE_URL.test(environment[name] ?? '');
}

/**
 * Finds the name that was probably meant by a misspelt one.
 * @param families first words that only this service uses. With such a word, a longer or shorter name is a near-miss,
 * too, such as `JWT_SECRET_KEY` and `JWT_AUD`.
 */
export function nearMiss(name: string, known: ReadonlySet<string>, families: ReadonlySet<string>): string | undefined {
  return nearest(name, known) ?? longerOrShorter(name, known, families);
}

/** The known name with the fewest slips. */
function nearest(name: string, known: ReadonlySet<string>): string | undefined {
  const letters = lettersOf(name);
  return [0, 1, 2]
    .map((slips) => [...known].find((each) => slips <= allowedSlips(each) && isWithin(slips, letters, lettersOf(each))))
    .find((each) => each !== undefined);
}

/** The first word of a variable's name. */
export const familyOf = (name: string): string => name.split('_')[0]!;

const lettersOf = (name: string): string => name.toUpperCase().replaceAll('_', '');

function allowedSlips(name: string): number {
  const { length } = lettersOf(name);
  if (length < SHORTEST) return -1;
  return length < LONG ? 1 : 2;
}

/** The longest known name that extends this name, or that this name extends, within a family. */
function longerOrShorter(name: string, known: ReadonlySet<string>, families: ReadonlySet<string>): string | undefined {
  if (!name.includes('_') || !families.has(familyOf(name))) return undefined;
  return [...known]
    .filter((candidate) => candidate.startsWith(name) || name.startsWith(`${candidate}_`))
    .sort((a, b) => b.length - a.length)[0];
}

/**
 * Tells whether at most this many slips lead from one text to the other. A slip is a letter that is additional, missing,
 * wrong, or swapped with its neighbor.
 */
function isWithin(slips: number, from: string, to: string): boolean {
  if (from === to) return true;
  if (from[0] === to[0]) return isWithin(slips, from.slice(1), to.slice(1));
  if (slips === 0) return false;
  const isSwap = from[0] === to[1] && from[1] === to[0];
  return (
    isWithin(slips - 1, from.slice(1), to) ||
    isWithin(slips - 1, from, to.slice(1)) ||
    isWithin(slips - 1, from.slice(1), to.slice(1)) ||
    (isSwap && isWithin(slips - 1, from.slice(2), to.slice(2)))
  );
}
