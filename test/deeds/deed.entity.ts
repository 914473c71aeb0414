import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, UpdateDateColumn } from 'typeorm';
import { hasLength, ResourceEntity } from '../../src/resource/resource-entity.js';

/** A record with a value of each kind that needs special care in JSON. */
@Entity('deeds')
@Check('deeds_title', hasLength('title', 1, 60))
export class Deed extends ResourceEntity {
  @Column('varchar')
  title!: string;

  @Column('decimal', { precision: 10, scale: 2, nullable: true })
  price!: string | null;

  @Column('double precision', { default: 0.1 })
  area!: number;

  @Column('boolean', { default: false })
  isPublic!: boolean;

  @CreateDateColumn()
  createdAt!: Date;

  @UpdateDateColumn()
  updatedAt!: Date;
}

/** A record that is deleted with its deed. */
@Entity('riders')
export class Rider extends ResourceEntity {
  @Column('varchar')
  text!: string;

  @Index()
  @Column('integer')
  @ForeignKey('Deed', { onDelete: 'CASCADE' })
  deedId!: number;
}
