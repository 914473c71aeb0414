import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import { keepTriggers } from './storage-row.js';

/** Count, capacity and revision of a resource. The triggers of its table update them in the same transaction. */
@Entity('storage')
@Check('storage_used', '"used" >= 0')
export class StorageRow {
  /** See `MigratingEntity`. */
  static readonly beforeMigrations = keepTriggers;

  @PrimaryColumn('varchar')
  resource!: string;

  /** Random. A new, migrated or restored database gets a new epoch, so ETags of its earlier states never match. */
  @Column('varchar')
  epoch!: string;

  /** Incremented by every change of a record. */
  @Column('integer')
  revision!: number;

  /** Number of records. */
  @Column('integer')
  used!: number;

  /** Maximum number of records, set at the start and when it changes; `null` before the first start. */
  @Column('integer', { nullable: true })
  capacity!: number | null;

  /** SQLite: number of records that the write in progress may replace; see `triggers.ts`. */
  @Column('integer', { nullable: true })
  replaced!: number | null;
}
