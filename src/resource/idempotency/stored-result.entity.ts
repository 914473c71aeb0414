import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** The result of a write with an `IdempotencyKey`, stored in the transaction of the write. */
@Entity('idempotency_keys')
export class StoredResult {
  @PrimaryColumn('varchar')
  id!: string;

  @Column('varchar')
  fingerprint!: string;

  /** The result in the format of `v8.serialize`, as Base64. */
  @Column('text')
  result!: string;

  /** In milliseconds since 1970, by the clock of the database. */
  @Index('idempotency_keys_expires')
  @Column('bigint')
  expires!: number;
}
