import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Progress of an unfinished import, saved with its records: after a crash, none is repeated or skipped. */
@Entity('imports')
export class UnfinishedImport {
  /** Plural name of the resource; a resource has at most one unfinished import. */
  @PrimaryColumn('varchar')
  resource!: string;

  /** Number of stored lines. */
  @Column('integer')
  lines!: number;

  /** SHA-256 of the stored lines, to recognise the input. */
  @Column('varchar')
  digest!: string;

  /** `keep`: records keep the ids of the input; `assign` and `none`: they get new ids; `none`: no line has an id. */
  @Column('varchar')
  ids!: 'keep' | 'assign' | 'none';

  /** Start time in ISO 8601. */
  @Column('varchar')
  started!: string;
}
