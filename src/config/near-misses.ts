import type { Environment } from './setting.js';

/** Variables that Kubernetes and Docker put into a container, one set for each service of any name. */
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

/** The known name that the fewest slips lead to. */
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

/** The name of a family that begins with this one, or that this one begins with; the longest of them. */
function relative(name: string, known: ReadonlySet<string>, families: ReadonlySet<string>): string | undefined {
  if (!name.includes('_') || !families.has(familyOf(name))) return undefined;
  return [...known]
    .filter((candidate) => candidate.startsWith(name) || name.startsWith(`${candidate}_`))
    .sort((a, b) => b.length - a.length)[0];
}

/** Whether this many slips lead from one text to the other: a letter too many, missing, wrong, or swapped with its neighbor. */
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
