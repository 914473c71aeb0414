import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** One change of a record, written by a trigger in its transaction. A `prune` line names lines that were deleted. */
@Entity('audit')
@Index('audit_record', ['resource', 'record', 'sequence'])
export class AuditLine {
  @PrimaryColumn('varchar')
  resource!: string;

  /** From 1 up for each resource, without gaps. */
  @PrimaryColumn('integer')
  sequence!: number;

  /** RFC 3339 in UTC with milliseconds, by the clock of the database. */
  @Column('varchar')
  at!: string;

  @Column('varchar')
  operation!: 'create' | 'update' | 'delete' | 'prune';

  /** The id of the record; empty for `prune`. */
  @Column('varchar')
  record!: string;

  @Column('varchar', { nullable: true })
  issuer!: string | null;

  @Column('varchar', { nullable: true })
  subject!: string | null;

  @Column('varchar', { nullable: true })
  address!: string | null;

  @Column('varchar', { name: 'request_id', nullable: true })
  requestId!: string | null;

  /** The user of the session on PostgreSQL; `sqlite` on SQLite. */
  @Column('varchar', { name: 'database_user' })
  databaseUser!: string;

  /** The record as JSON, as a GET returns it. */
  @Column('text', { nullable: true })
  before!: string | null;

  @Column('text', { nullable: true })
  after!: string | null;

  /** Hash of the previous line; empty for the first line, `null` until the line is sealed. */
  @Column('varchar', { nullable: true })
  previous!: string | null;

  @Column('varchar', { nullable: true })
  hash!: string | null;
}

/** The last line of a resource: the end of its chain of hashes. */
@Entity('audit_chains')
export class AuditChain {
  @PrimaryColumn('varchar')
  resource!: string;

  @Column('integer')
  sequence!: number;

  /** Sequence of the last line that has a hash. */
  @Column('integer')
  sealed!: number;

  /** Hash of the last line that has a hash; empty if there is none. */
  @Column('varchar')
  hash!: string;
}
