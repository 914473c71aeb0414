import { Argument } from 'commander';
import { RESOURCES } from '../../features.js';
import { isOnly, NAMES } from '../resources/resources.js';

/** The optional argument of a command that works on one resource. */
export function resourceArgument(): Argument {
  const about = isOnly ? `may be left out: there are only ${NAMES[0]}` : `one of ${NAMES.join(', ')}`;
  return new Argument('[resource]', about);
}

/** The resource of such a command, for its description. */
export const recordsOf = (): string =>
  isOnly ? `the ${RESOURCES[0]!.name.pluralText}` : `the records of a resource (${NAMES.join(', ')})`;
