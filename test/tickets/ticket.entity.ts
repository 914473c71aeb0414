import { Check, Column, Entity, Index } from 'typeorm';
import { UUID_IDS } from '../../src/resource/id-kinds.js';
import {
  hasLength,
  isBetween,
  References,
  ResourceEntity,
  UuidResourceEntity,
} from '../../src/resource/resource-entity.js';

@Entity('tickets')
@Check('tickets_title', hasLength('title', 1, 60))
@Check('tickets_seats', isBetween('seats', 1, 9))
@Index(['seats', 'id'])
export class Ticket extends UuidResourceEntity {
  @Column('varchar')
  title!: string;

  @Column('integer')
  seats!: number;
}

/** A resource with integers that refers to one with UUIDs. */
@Entity('notes')
@Check('notes_text', hasLength('text', 1, 100))
export class Note extends ResourceEntity {
  @Column('varchar')
  text!: string;

  @Column('boolean')
  isRead!: boolean;

  @References('Ticket', { ids: UUID_IDS })
  ticketId!: string;
}
