import { type Setting, setting } from '../config/setting.js';
import { integer } from '../config/parse.js';
import type { ResourceName } from './resource-name.js';
import type { ResourceEntity } from './store/resource-entity.js';
import type { Rule } from './store/rule.js';

/** The class of a resource's entity, or of its DTO. */
export type RecordClass<T = object> = new (...args: never[]) => T;

/**
 * The declaration of a resource for the configuration and the command line, listed in `src/features.ts`. Entity and DTO are
 * loaded only when a command needs them, so that `--help` is fast.
 */
export interface Resource<Entity extends ResourceEntity = ResourceEntity> {
  readonly name: ResourceName;
  /** Capacity in records. */
  readonly capacity: Setting<number> & { readonly default: string };
  /** Further settings of the feature. */
  readonly settings?: readonly Setting[];
  /** Filters of `export`: property names with their allowed values. */
  readonly filters?: Readonly<Record<string, readonly string[]>>;
  /** Its table has the resource's plural name. */
  readonly entity: () => Promise<RecordClass<Entity>>;
  /** The DTO class of the POST body. */
  readonly createDto: () => Promise<RecordClass>;
  /** The DTO class of a record, where it has properties that the service sets. An import may bring these as well. */
  readonly recordDto?: () => Promise<RecordClass>;
  /** What must hold across records, at every write of the service and at imports. */
  readonly rule?: () => Promise<Rule<Entity>>;
}

/** Declares the capacity setting of a resource, such as `ORDERS_CAPACITY`. */
export function capacitySetting(
  variable: string,
  { pluralText }: ResourceName,
  records = 10_000,
): Resource['capacity'] {
  return setting(variable, integer(0, Number.MAX_SAFE_INTEGER), {
    about: `most ${pluralText} that may be stored; above it POST is 507`,
    default: String(records),
  });
}
