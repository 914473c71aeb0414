import { Check, Column, Entity, Index } from 'typeorm';
import { isBetween, isOneOf, References, ResourceEntity } from '../../src/resource/resource-entity.js';
import { ResourceName } from '../../src/resource/resource.js';

export const SLEIGH = new ResourceName('sleigh');
export const OUTING = new ResourceName('outing');
export const STATUSES = ['booked', 'seated', 'cancelled'] as const;
export type Status = (typeof STATUSES)[number];

@Entity('sleighs')
@Check('sleighs_seats', isBetween('seats', 1, 20))
export class Sleigh extends ResourceEntity {
  @Column('integer')
  seats!: number;

  @Column('boolean', { default: true })
  isOpen!: boolean;
}

/** The service sets the status, the owner and `deletedAt`. */
@Entity('outings')
@Check('outings_status', isOneOf('status', STATUSES))
@Index(['guests', 'id'])
export class Outing extends ResourceEntity {
  @References('Sleigh')
  sleighId!: number;

  @Column('integer')
  guests!: number;

  @Column({ type: Date })
  startsAt!: Date;

  @Column({ type: Date })
  endsAt!: Date;

  @Column('varchar', { default: 'booked' })
  status!: Status;

  @Column('varchar')
  owner!: string;

  @Index()
  @Column({ type: Date, nullable: true })
  deletedAt?: Date | null;
}
