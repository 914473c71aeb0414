import { Check, Column, ForeignKey, Index, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import { type Id, type IdKind, INTEGER_IDS, IS_UUID } from './id-kinds.js';

/** The CHECK of an enum column; `values` are written without quotes. */
export function isOneOf(column: string, values: readonly string[]): string {
  return `"${column}" IN (${values.map((value) => `'${value}'`).join(', ')})`;
}

/** The CHECK of a text column: its length in Unicode code points. */
export function hasLength(column: string, min: number, max: number): string {
  return `length("${column}") BETWEEN ${min} AND ${max}`;
}

/** The CHECK of a number column: its range, both ends included. */
export function isBetween(column: string, min: number, max: number): string {
  return `"${column}" BETWEEN ${min} AND ${max}`;
}

/**
 * A foreign key to a record of another resource, or of the same one; an import checks the latter at its end. A write
 * with an unknown id is 400; the deletion of a referenced record is 409.
 * @param entity its name, because a feature does not import entities of other features
 * @param options `ids` is the kind of ids of the other resource; `unique` allows one record for each
 */
export function References(
  entity: string,
  {
    nullable = false,
    ids = INTEGER_IDS,
    unique = false,
  }: { readonly nullable?: boolean; readonly ids?: IdKind; readonly unique?: boolean } = {},
): PropertyDecorator {
  return (target, property) => {
    Column(ids.columnType, { nullable })(target, property);
    Index({ unique })(target, property);
    const deferrable = entity === target.constructor.name ? 'INITIALLY IMMEDIATE' : undefined;
    ForeignKey(entity, { onDelete: 'RESTRICT', deferrable })(target, property);
  };
}

/** The version of a record or of a resource; ETags contain it. */
export interface Version {
  readonly epoch: string;
  readonly revision: number;
}

/** The entity of a resource; `ResourceEntity` and `UuidResourceEntity` are its base classes. */
export interface AnyResourceEntity {
  id: Id;
  revision: number;
}

/** Base class of the entity of a resource. Clients see the id and all columns of the subclass. */
export abstract class ResourceEntity implements AnyResourceEntity {
  /** Starts at 1; an id is never reused. */
  @PrimaryGeneratedColumn()
  id!: number;

  /** Revision of the resource at the last change of this record. The database sets it for writers that do not. */
  @Column('integer', { default: 0 })
  revision!: number;
}

@Check(IS_UUID)
export abstract class UuidResourceEntity implements AnyResourceEntity {
  /** The service makes a UUID of version 7. Other writers must insert one. */
  @PrimaryColumn('uuid')
  id!: string;

  @Column('integer', { default: 0 })
  revision!: number;
}

/** A record as clients see it: all columns except the revision. */
export type PublicRecord<Entity extends AnyResourceEntity> = Omit<Entity, 'revision'>;

/** Names of properties with `@CreateDateColumn` and `@UpdateDateColumn`, which the resource kit sets. */
type SetByKit = 'createdAt' | 'updatedAt';

/** A new record, with or without an id. */
export type NewRecord<Entity extends AnyResourceEntity> = Omit<Entity, 'id' | 'revision' | SetByKit> &
  Partial<Pick<Entity, Extract<keyof Entity, SetByKit>>> & { readonly id?: Entity['id'] };

type RecordChanges<Entity extends AnyResourceEntity> = Partial<Omit<Entity, 'id' | 'revision'>>;

/** The changes of an update, or a function that gets the stored record and returns the changes or throws an error. */
export type Change<Entity extends AnyResourceEntity> =
  RecordChanges<Entity> | ((record: PublicRecord<Entity>) => RecordChanges<Entity>);

export interface Stored<T> {
  readonly record: T;
  readonly version: Version;
}

export type StoredRecord<Entity extends AnyResourceEntity> = Stored<PublicRecord<Entity>>;

/** Checks the version of a record inside the transaction of a write. If it throws, the record stays as it is. */
export type WriteCheck = (current: Version) => void;
