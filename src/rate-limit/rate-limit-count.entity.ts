import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** The requests of one subject or address in its current window, in all processes (`RATE_LIMIT_STORE=database`). */
@Entity('rate_limits')
export class RateLimitCount {
  /** The policy and a hash of the subject or address. */
  @PrimaryColumn('varchar')
  key!: string;

  @Column('integer')
  requests!: number;

  /** End of the window, in milliseconds since 1970. */
  @Index('rate_limits_ends_at')
  @Column('bigint', { name: 'ends_at' })
  endsAt!: number;
}
