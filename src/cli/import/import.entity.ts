import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * How far the import into a resource has got that has not come to its end. It changes in the transaction that stores the
 * records, so that a run after a crash stores none twice and leaves none out.
 */
@Entity('imports')
export class UnfinishedImport {
  /** The resource's plural name; one import at a time goes into it. */
  @PrimaryColumn('varchar')
  resource!: string;

  /** Lines of the input whose records are stored. */
  @Column('integer')
  lines!: number;

  /** SHA-256 of those lines, to know the input again by. */
  @Column('varchar')
  digest!: string;

  /** Whether records keep the ids they bring (`keep`) or get new ones (`assign`). */
  @Column('varchar')
  ids!: 'keep' | 'assign';

  /** When it began, in ISO 8601. */
  @Column('varchar')
  started!: string;
}
