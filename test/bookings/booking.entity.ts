import { Check, Column, Entity, Index } from 'typeorm';
import { isBetween, isOneOf, References, ResourceEntity } from '../../src/resource/resource-entity.js';
import { ResourceName } from '../../src/resource/resource.js';

export const TABLE = new ResourceName('table');
export const BOOKING = new ResourceName('booking');
export const STATUSES = ['booked', 'seated', 'cancelled'] as const;
export type Status = (typeof STATUSES)[number];

@Entity('tables')
@Check('tables_seats', isBetween('seats', 1, 20))
export class Table extends ResourceEntity {
  @Column('integer')
  seats!: number;

  @Column('boolean', { default: true })
  isOpen!: boolean;
}

/** The service sets the status, the owner and `deletedAt`. */
@Entity('bookings')
@Check('bookings_status', isOneOf('status', STATUSES))
@Index(['guests', 'id'])
export class Booking extends ResourceEntity {
  @References('Table')
  tableId!: number;

  @Column('integer')
  guests!: number;

  @Column('varchar', { default: 'booked' })
  status!: Status;

  @Column('varchar')
  owner!: string;

  @Index()
  @Column({ type: Date, nullable: true })
  deletedAt?: Date | null;
}
