import { Check, Column, Entity } from 'typeorm';
import { hasLength, isOneOf, References, ResourceEntity } from '../../src/resource/resource-entity.js';
import { ResourceName } from '../../src/resource/resource.js';

export const PARCEL = new ResourceName('parcel');
export const STATUSES = ['open', 'paid', 'shipped'] as const;
export type Status = (typeof STATUSES)[number];

@Entity('parcels')
@Check('parcels_customer', hasLength('customer', 1, 100))
@Check('parcels_quantity', '"quantity" BETWEEN 1 AND 1000')
@Check('parcels_status', isOneOf('status', STATUSES))
export class Parcel extends ResourceEntity {
  @Column('varchar')
  customer!: string;

  @Column('integer')
  quantity!: number;

  @Column('varchar')
  status!: Status;

  @References('Cookie')
  cookieId!: number;
}
