import { Column, PrimaryGeneratedColumn } from 'typeorm';
import type { Version } from '../usage/usage-counter.js';

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
export type RecordOf<Entity extends ResourceEntity> = Omit<Entity, 'revision'>;

/** Names of properties with `@CreateDateColumn` and `@UpdateDateColumn`, which the kit sets. */
type SetByKit = 'createdAt' | 'updatedAt';

/** A new record, with or without an id. */
export type NewRecord<Entity extends ResourceEntity> = Omit<Entity, 'id' | 'revision' | SetByKit> &
  Partial<Pick<Entity, Extract<keyof Entity, SetByKit>>> & { readonly id?: number };

/** The changes of an update. */
export type RecordChanges<Entity extends ResourceEntity> = Partial<Omit<Entity, 'id' | 'revision'>>;

export interface StoredRecord<Entity extends ResourceEntity> {
  readonly record: RecordOf<Entity>;
  readonly version: Version;
}

/** Checks the version of a record inside the transaction of a write. If it throws, the record stays as it is. */
export type WriteCheck = (current: Version) => void;

/** An update in a batch. */
export interface RecordUpdate<Entity extends ResourceEntity> {
  readonly id: number;
  readonly changes: RecordChanges<Entity>;
  readonly check?: WriteCheck;
}

export interface RecordDeletion {
  readonly id: number;
  readonly check?: WriteCheck;
}
