import { Column, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';

/** The CHECK of an enum column; `values` are written without quotes. */
export function isOneOf(column: string, values: readonly string[]): string {
  return `"${column}" IN (${values.map((value) => `'${value}'`).join(', ')})`;
}

/** The CHECK of a text column: its length in Unicode code points. */
export function hasLength(column: string, min: number, max: number): string {
  return `length("${column}") BETWEEN ${min} AND ${max}`;
}

/** The CHECK of a number column: a range that includes both ends. */
export function isBetween(column: string, min: number, max: number): string {
  return `"${column}" BETWEEN ${min} AND ${max}`;
}

/**
 * A foreign key to a record of another resource. A write with an unknown id is 400; the deletion of a referenced record is 409.
 * The other entity is given by its name, because a feature does not import the entity of another one.
 */
export function References(
  entity: string,
  { nullable = false }: { readonly nullable?: boolean } = {},
): PropertyDecorator {
  return (target, property) => {
    Column('integer', { nullable })(target, property);
    Index()(target, property);
    ForeignKey(entity, { onDelete: 'RESTRICT' })(target, property);
  };
}

/** The version of a record or of a resource; ETags contain it. */
export interface Version {
  readonly epoch: string;
  readonly revision: number;
}

/** Base class of the entity of a resource. Clients see the id and all columns of the subclass. */
export abstract class ResourceEntity {
  /** Starts at 1; an id is never reused. */
  @PrimaryGeneratedColumn()
  id!: number;

  /** Revision of the resource at the last change of this record. The database sets it for writers that do not. */
  @Column('integer', { default: 0 })
  revision!: number;
}

/** A record as clients see it: all columns except the revision. */
export type PublicRecord<Entity extends ResourceEntity> = Omit<Entity, 'revision'>;

/** Names of properties with `@CreateDateColumn` and `@UpdateDateColumn`, which the kit sets. */
type SetByKit = 'createdAt' | 'updatedAt';

/** A new record, with or without an id. */
export type NewRecord<Entity extends ResourceEntity> = Omit<Entity, 'id' | 'revision' | SetByKit> &
  Partial<Pick<Entity, Extract<keyof Entity, SetByKit>>> & { readonly id?: number };

/** The changes of an update. */
export type RecordChanges<Entity extends ResourceEntity> = Partial<Omit<Entity, 'id' | 'revision'>>;

/** The changes of an update, or a function of the stored record that returns them or throws the error of the update. */
export type Change<Entity extends ResourceEntity> =
  RecordChanges<Entity> | ((record: PublicRecord<Entity>) => RecordChanges<Entity>);

export interface StoredRecord<Entity extends ResourceEntity> {
  readonly record: PublicRecord<Entity>;
  readonly version: Version;
}

/** Checks the version of a record inside the transaction of a write. If it throws, the record stays as it is. */
export type WriteCheck = (current: Version) => void;

/** An update in a batch. */
export interface RecordUpdate<Entity extends ResourceEntity> {
  readonly id: number;
  readonly changes: Change<Entity>;
  readonly check?: WriteCheck;
}

export interface RecordDeletion {
  readonly id: number;
  readonly check?: WriteCheck;
}
