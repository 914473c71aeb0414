import { type Setting, setting } from '../config/setting.js';
import { integer } from '../config/parse.js';
import type { ResourceName } from './resource-name.js';
import type { ResourceEntity } from './store/resource-entity.js';

/** The class of a resource's entity, or of its DTO. */
export type RecordClass<T = object> = new (...args: never[]) => T;

/**
 * A resource as those see it who work on any: the configuration and the command line. Its feature declares one, which
 * `src/features.ts` lists. What takes long to load is loaded when it is needed: `--help` needs none of it.
 */
export interface Resource<Entity extends ResourceEntity = ResourceEntity> {
  readonly name: ResourceName;
  /** How many records may be stored. */
  readonly capacity: Setting<number> & { readonly default: string };
  /** What else the feature lets an operator set. */
  readonly settings?: readonly Setting[];
  /** Properties that `export` can filter by, each with its values: options of the command line. */
  readonly filters?: Readonly<Record<string, readonly string[]>>;
  /** Its table has the resource's plural name. */
  readonly entity: () => Promise<RecordClass<Entity>>;
  /** The DTO class that POST takes, and with it what describes and validates it. */
  readonly createDto: () => Promise<RecordClass>;
}

/** The setting for how many records of a resource may be stored; `variable` such as `ORDERS_CAPACITY`. */
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
