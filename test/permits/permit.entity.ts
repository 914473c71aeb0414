import { Check, Column, Entity, Index } from 'typeorm';
import { UUID_IDS } from '../../src/resource/id-kinds.js';
import {
  hasLength,
  isBetween,
  References,
  ResourceEntity,
  UuidResourceEntity,
} from '../../src/resource/resource-entity.js';
import { ResourceName } from '../../src/resource/resource.js';

export const PERMIT = new ResourceName('permit', 'permits', UUID_IDS);
export const REMARK = new ResourceName('remark');

@Entity('permits')
@Check('permits_title', hasLength('title', 1, 60))
@Check('permits_seats', isBetween('seats', 1, 9))
@Index(['seats', 'id'])
export class Permit extends UuidResourceEntity {
  @Column('varchar')
  title!: string;

  @Column('integer')
  seats!: number;
}

/** A resource with integer ids that refers to a resource with UUIDs. */
@Entity('remarks')
@Check('remarks_text', hasLength('text', 1, 100))
export class Remark extends ResourceEntity {
  @Column('varchar')
  text!: string;

  @Column('boolean')
  isRead!: boolean;

  @References('Permit', { ids: UUID_IDS })
  permitId!: string;
}
