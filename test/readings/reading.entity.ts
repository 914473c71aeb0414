import { Check, Column, Entity, Index } from 'typeorm';
import { isOneOf, ResourceEntity } from '../../src/resource/resource-entity.js';
import { ResourceName } from '../../src/resource/resource.js';

export const READING = new ResourceName('reading');
export const KINDS = ['indoor', 'outdoor'] as const;
export type Kind = (typeof KINDS)[number];

/** Two properties to filter by, and a property of each sortable type, required and nullable. */
@Entity('readings')
@Check('readings_kind', isOneOf('kind', KINDS))
@Index(['level', 'id'])
@Index(['weight', 'id'])
@Index(['takenAt', 'id'])
@Index(['price', 'id'])
@Index(['day', 'id'])
export class Reading extends ResourceEntity {
  @Column('varchar')
  kind!: Kind;

  /** An index that the engine might prefer to the index of the sort order. */
  @Index()
  @Column('integer')
  batch!: number;

  @Column('smallint', { nullable: true })
  level!: number | null;

  @Column('double precision')
  weight!: number;

  /** Its column has a name that the SQL of lists uses, too. */
  @Column('decimal', { name: 'value', precision: 10, scale: 2 })
  price!: string;

  @Column('date', { nullable: true })
  day!: string | null;

  @Column({ nullable: true })
  takenAt!: Date;
}
