import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * Count and revision of one resource. Every write updates the row in its own transaction.
 */
@Entity('storage')
@Check('storage_used', '"used" >= 0')
export class StorageRow {
  /** The resource's plural name, as in its URL. */
  @PrimaryColumn('varchar')
  resource!: string;

  /** Random; a new database and a restore get a new one, so ETags of different databases never match. */
  @Column('varchar')
  epoch!: string;

  /** Incremented by every change of a record. */
  @Column('integer')
  revision!: number;

  /** Number of records. */
  @Column('integer')
  used!: number;
}
