import { Check, Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { type Flavor, FLAVORS, type Size, SIZES, WISH_LENGTH } from './cookie.values.js';

const list = (values: readonly string[]): string => values.map((value) => `'${value}'`).join(', ');

/** One stored cookie. The checks repeat the contract, so that no other writer of the database can break it. */
@Entity('cookies')
@Check('cookies_flavor', `"flavor" IN (${list(FLAVORS)})`)
@Check('cookies_size', `"size" IN (${list(SIZES)})`)
@Check('cookies_wish', `length("wish") BETWEEN 1 AND ${WISH_LENGTH}`)
export class Cookie {
  /** From 1 up, never given twice. */
  @PrimaryGeneratedColumn()
  id!: number;

  @Column('varchar')
  flavor!: Flavor;

  @Column('varchar')
  size!: Size;

  @Column('varchar')
  wish!: string;

  /** The resource's revision at this record's last change. */
  @Column('integer')
  revision!: number;
}
