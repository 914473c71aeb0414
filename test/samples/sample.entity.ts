import { Check, Column, CreateDateColumn, Entity, Index, UpdateDateColumn } from 'typeorm';
import { UUID_IDS } from '../../src/resource/id-kinds.js';
import { hasLength, isBetween, isOneOf, References, UuidResourceEntity } from '../../src/resource/resource-entity.js';
import { ResourceName } from '../../src/resource/resource.js';

export const SAMPLE = new ResourceName('sample', 'samples', UUID_IDS);

export const SAMPLE_STATUSES = ['open', 'paid'] as const;
export type SampleStatus = (typeof SAMPLE_STATUSES)[number];

export const SAMPLE_PAPERS = ['plain', 'striped'] as const;
export type SamplePaper = (typeof SAMPLE_PAPERS)[number];

export const SAMPLE_STATES = ['new', 'used'] as const;
export type SampleState = (typeof SAMPLE_STATES)[number];

export interface SampleAddress {
  street: string;
  zip?: number | null;
  since?: Date | string | null;
  point?: { east: number; north: number } | null;
}

/** An entity with UUIDs, properties of every kind, required and optional, one unique, one set by the service. */
@Entity('samples')
@Check('samples_code', hasLength('code', 2, 9))
@Check('samples_note', hasLength('note', 1, 100))
@Check('samples_quantity', isBetween('quantity', -5, 1000))
@Check('samples_points', isBetween('points', 0, 9))
@Check('samples_weight', isBetween('weight', 0, 99.5))
@Check('samples_status', isOneOf('status', SAMPLE_STATUSES))
@Check('samples_paper', isOneOf('paper', SAMPLE_PAPERS))
@Check('samples_state', isOneOf('state', SAMPLE_STATES))
@Index(['code'], { unique: true })
@Index(['quantity', 'day'], { unique: true })
@Index(['quantity', 'id'])
@Index(['points', 'id'])
@Index(['weight', 'id'])
@Index(['price', 'id'])
@Index(['tip', 'id'])
@Index(['day', 'id'])
@Index(['startsAt', 'id'])
@Index(['endsAt', 'id'])
export class Sample extends UuidResourceEntity {
  @Column('varchar')
  code!: string;

  @Column('varchar', { nullable: true })
  note?: string | null;

  @Column('integer')
  quantity!: number;

  @Column('integer', { nullable: true })
  points?: number | null;

  @Column('double precision')
  weight!: number;

  @Column('boolean', { default: true })
  isOpen!: boolean;

  @Column('boolean', { nullable: true })
  isGift?: boolean | null;

  @Column({ type: Date })
  startsAt!: Date;

  @Column({ type: Date, nullable: true })
  endsAt?: Date | null;

  @Column('date')
  day!: string;

  @Column('date', { nullable: true })
  lastDay?: string | null;

  /** Its column has a name that the SQL of lists uses, too. */
  @Column('decimal', { name: 'value', precision: 10, scale: 2, default: 1.5 })
  price!: string;

  @Column('decimal', { precision: 5, scale: 0, nullable: true })
  tip?: string | null;

  @Column('uuid')
  deviceId!: string;

  @Column('uuid', { nullable: true })
  batchId?: string | null;

  @Column('varchar')
  status!: SampleStatus;

  @Column('varchar', { nullable: true })
  paper?: SamplePaper | null;

  @Column('varchar', { default: 'new' })
  state!: SampleState;

  @References('Cookie')
  cookieId!: number;

  @References('Cookie', { nullable: true })
  otherId?: number | null;

  @References('Sample', { nullable: true, ids: UUID_IDS })
  wholeId?: string | null;

  @Column('simple-json')
  address!: SampleAddress;

  @Column('simple-json', { nullable: true })
  delivery?: SampleAddress | null;

  @CreateDateColumn()
  createdAt!: Date;

  @UpdateDateColumn()
  updatedAt!: Date;
}
