import { Check, Column, Entity } from 'typeorm';
import { hasLength, isOneOf, ResourceEntity } from '../resource/resource-entity.js';
import { type Flavor, FLAVORS, type Size, SIZES, WISH_LENGTH } from './cookie.values.js';

/** A stored cookie. The checks repeat the validation, for other programs that write to the database. */
@Entity('cookies')
@Check('cookies_flavor', isOneOf('flavor', FLAVORS))
@Check('cookies_size', isOneOf('size', SIZES))
@Check('cookies_wish', hasLength('wish', 1, WISH_LENGTH))
export class Cookie extends ResourceEntity {
  @Column('varchar')
  flavor!: Flavor;

  @Column('varchar')
  size!: Size;

  @Column('varchar')
  wish!: string;
}
