import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** The result of a write whose request had an `Idempotency-Key`, stored in the transaction of the write. */
@Entity('idempotency_keys')
export class StoredResult {
  /** Hash of issuer, subject, path and key. */
  @PrimaryColumn('varchar')
  id!: string;

  /** Hash of the query and the body. */
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
