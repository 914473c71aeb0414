import { Column, PrimaryGeneratedColumn } from 'typeorm';
import type { Version } from '../usage/usage-counter.js';

/** What the entity of every resource extends. Its other columns are what clients see of a record, besides the id. */
export abstract class ResourceEntity {
  /** From 1 up, never given twice. */
  @PrimaryGeneratedColumn()
  id!: number;

  /** The resource's revision at this record's last change. */
  @Column('integer')
  revision!: number;
}

/** What clients see of an entity: all of its columns but the revision. */
export type RecordOf<Entity extends ResourceEntity> = Omit<Entity, 'revision'>;

/** A record to be stored, with the id that it shall have or without one. */
export type NewRecord<Entity extends ResourceEntity> = Omit<Entity, 'id' | 'revision'> & { readonly id?: number };

/** What an update may change. */
export type RecordChanges<Entity extends ResourceEntity> = Partial<Omit<Entity, 'id' | 'revision'>>;

export interface StoredRecord<Entity extends ResourceEntity> {
  readonly record: RecordOf<Entity>;
  readonly version: Version;
}

/** Looks at the record inside the transaction that is about to change it. When it throws, the record stays as it is. */
export type WriteCheck = (current: Version) => void;

/** An update that waits for its transaction. */
export interface RecordUpdate<Entity extends ResourceEntity> {
  readonly id: number;
  readonly changes: RecordChanges<Entity>;
  readonly check?: WriteCheck;
}

export interface RecordDeletion {
  readonly id: number;
  readonly check?: WriteCheck;
}
