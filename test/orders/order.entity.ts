import { Check, Column, Entity } from 'typeorm';
import { hasLength, isOneOf, References } from '../../src/resource/columns.js';
import { ResourceEntity } from '../../src/resource/store/resource-entity.js';
import { type Status, STATUSES } from './order.values.js';

@Entity('orders')
@Check('orders_customer', hasLength('customer', 1, 100))
@Check('orders_quantity', '"quantity" BETWEEN 1 AND 1000')
@Check('orders_status', isOneOf('status', STATUSES))
export class Order extends ResourceEntity {
  @Column('varchar')
  customer!: string;

  @Column('integer')
  quantity!: number;

  @Column('varchar')
  status!: Status;

  @References('Cookie')
  cookieId!: number;
}
