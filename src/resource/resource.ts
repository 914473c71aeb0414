import { integer } from '../config/parse.js';
import { type Setting, setting } from '../config/setting.js';
import type { Sql } from '../database/engine.js';
import { type Id, type IdKind, INTEGER_IDS } from './id-kinds.js';
import type { PublicRecord, AnyResourceEntity } from './resource-entity.js';

/** The name of a resource, from which its URL, messages and error codes derive, and the kind of its ids. */
export class ResourceName<I extends Id = Id> {
  /**
   * @param singular in lower case, such as `order` or `gift-card`; words are joined by hyphens
   * @param plural as in its URL, its scopes, its table and its `storage` row
   * @param ids as in its entity: `INTEGER_IDS` for `ResourceEntity`, `UUID_IDS` for `UuidResourceEntity`
   */
  constructor(
    readonly singular: string,
    readonly plural = `${singular}s`,
    readonly ids: IdKind<I> = INTEGER_IDS as IdKind as IdKind<I>,
  ) {}

  /** Singular in messages: `gift card`. */
  get text(): string {
    return this.singular.replaceAll('-', ' ');
  }

  /** Plural in messages: `gift cards`. */
  get pluralText(): string {
    return readableName(this.plural);
  }

  /** A number of records in messages: `1 gift card`, `2 gift cards`. */
  counted(count: number): string {
    return `${count} ${count === 1 ? this.text : this.pluralText}`;
  }

  /** The singular with its article: `a jar`, `an order`. */
  get indefinite(): string {
    return `${/^[aeiou]/.test(this.singular) ? 'an' : 'a'} ${this.text}`;
  }

  /** Singular in names of types and operations: `GiftCard`. */
  get typeName(): string {
    return this.singular.split('-').map(capitalized).join('');
  }

  /** Plural in names of types and operations: `GiftCards`. */
  get pluralTypeName(): string {
    return this.plural.split(/[-_]/).map(capitalized).join('');
  }

  get notFoundCode(): string {
    return `${this.singular.replaceAll('-', '_').toUpperCase()}_NOT_FOUND`;
  }
}

const capitalized = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** The plural name in messages: `gift cards` for `gift-cards`. */
export function readableName(plural: string): string {
  return plural.replaceAll(/[-_]/g, ' ');
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
 * A rule across records of one or several resources. It runs inside the transaction of each POST, PUT, PATCH and import
 * of the resource, after the write, so its SQL reads the new values. When it throws an `ApiError` or an exception of
 * Nest, the write is undone, and the error is the response. It may run again, so it must only use its arguments.
 */
export type Rule<Entity extends AnyResourceEntity> = RuleForOne<Entity> | RuleForAll<Entity>;

/** Runs once for each record: plain, and slower than a rule for all. */
export interface RuleForOne<Entity extends AnyResourceEntity> {
  check(change: RecordChange<Entity>, transaction: RuleTransaction): Promise<void>;
}

/**
 * Runs once for all records of a transaction: POSTs that wait together, or a batch of an import. When it throws, it runs
 * again for each record alone, so its error need not name the wrong record.
 */
export interface RuleForAll<Entity extends AnyResourceEntity> {
  checkAll(changes: readonly RecordChange<Entity>[], transaction: RuleTransaction): Promise<void>;
}

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
