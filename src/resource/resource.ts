import { integer } from '../config/parse.js';
import { type Setting, setting } from '../config/setting.js';
import type { Sql } from '../database/engine.js';
import { type Id, type IdKind, INTEGER_IDS } from './id-kinds.js';
import type { PublicRecord, AnyResourceEntity } from './resource-entity.js';

export const readableName = (plural: string): string => plural.replaceAll(/[-_]/g, ' ');

const capitalized = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** The name of a resource, for its URL, messages and types: `gift cards`, `1 gift card`, `a gift card`, `GiftCard`. */
export class ResourceName<I extends Id = Id> {
  readonly text = this.singular.replaceAll('-', ' ');
  readonly pluralText = readableName(this.plural);
  readonly indefinite = `${/^[aeiou]/.test(this.singular) ? 'an' : 'a'} ${this.text}`;
  readonly typeName = this.singular.split('-').map(capitalized).join('');
  readonly pluralTypeName = this.plural.split(/[-_]/).map(capitalized).join('');
  readonly notFoundCode = `${this.singular.replaceAll('-', '_').toUpperCase()}_NOT_FOUND`;

  constructor(
    /** In lower case, with hyphens between words: `gift-card`. */
    readonly singular: string,
    /** As in its URL, its scopes, its table and its `storage` row. */
    readonly plural = `${singular}s`,
    /** `INTEGER_IDS` if its entity extends `ResourceEntity`, `UUID_IDS` if it extends `UuidResourceEntity`. */
    readonly ids: IdKind<I> = INTEGER_IDS as IdKind as IdKind<I>,
  ) {}

  counted(count: number): string {
    return `${count} ${count === 1 ? this.text : this.pluralText}`;
  }
}

/** A record before and after a write; a new record has no `before`. */
export interface RecordChange<Entity extends AnyResourceEntity> {
  readonly before?: Readonly<PublicRecord<Entity>>;
  readonly after: Readonly<PublicRecord<Entity>>;
}

export interface RuleTransaction extends Sql {
  /**
   * Reads a row of a resource and locks it until the transaction ends. A rule locks the rows that it compares with.
   * Then a write of another resource waits, and its own rule sees this write.
   */
  lock<Row>(table: string, id: Id): Promise<Row | undefined>;
  /** Reads and locks the rows that exist, in the order of their ids, which prevents deadlocks. */
  lockAll<Row>(table: string, ids: readonly Id[]): Promise<Row[]>;
}

/**
 * A rule across records, in the transaction of each POST, PUT, PATCH and import, after the write: its SQL reads the new
 * values. It may run again, so it must only use its arguments. If it throws, the write is undone; an `ApiError` or
 * exception of Nest is the response, and `checkAll` runs again for each record alone. `check` runs in the async context
 * of its request, `checkAll` in that of any.
 */
export type Rule<Entity extends AnyResourceEntity> =
  | { check(change: RecordChange<Entity>, transaction: RuleTransaction): Promise<void> }
  | { checkAll(changes: readonly RecordChange<Entity>[], transaction: RuleTransaction): Promise<void> };

export type RecordClass<T = object> = new (...args: never[]) => T;

/**
 * The declaration of a resource for the configuration and the command line, listed in `src/features.ts`. Entity and DTO
 * are loaded only when a command needs them, so that `--help` is fast.
 */
export interface Resource<Entity extends AnyResourceEntity = AnyResourceEntity> {
  readonly name: ResourceName;
  readonly capacity: Setting<number> & { readonly default: string };
  readonly settings?: readonly Setting[];
  /** Filters of `export`: property names with their allowed values. */
  readonly filters?: Readonly<Record<string, readonly string[]>>;
  /** Its table has the resource's plural name. */
  readonly entity: () => Promise<RecordClass<Entity>>;
  readonly createDto: () => Promise<RecordClass>;
  /** The DTO class of a record, if it has properties that the service sets. An import may bring these as well. */
  readonly recordDto?: () => Promise<RecordClass>;
  /** Whether the audit trail has a line for each change of a record, including changes of other writers. */
  readonly audited?: boolean;
  readonly rule?: () => Promise<Rule<Entity>>;
}

export function capacitySetting(variable: string, { pluralText }: ResourceName): Resource['capacity'] {
  return setting(variable, integer(0, Number.MAX_SAFE_INTEGER), {
    about: `maximum number of ${pluralText} that may be stored; above it POST is 507`,
    default: '10000',
    live: true,
  });
}
