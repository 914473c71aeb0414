import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * The usage of one resource: how many records it holds and how often they have changed. It changes in the same
 * transaction as the records, so it is never wrong and nothing needs counting.
 */
@Entity('storage')
@Check('storage_used', '"used" >= 0')
export class StorageRow {
  /** The resource's plural name, as in its URL. */
  @PrimaryColumn('varchar')
  resource!: string;

  /** Random, made with the database and renewed on restore: revisions of two databases never compare equal. */
  @Column('varchar')
  epoch!: string;

  /** Raised by every real change of any of the resource's records. */
  @Column('integer')
  revision!: number;

  /** Records stored now. */
  @Column('integer')
  used!: number;
}
