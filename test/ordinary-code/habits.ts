import {
  Column,
  CreateDateColumn,
  type DataSource,
  DeleteDateColumn,
  Entity,
  Like,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Repository,
  UpdateDateColumn,
  VersionColumn,
} from 'typeorm';

@Entity('shelves')
export class Shelf {
  @PrimaryGeneratedColumn('uuid')
  id!: string;

  @Column('varchar')
  label!: string;

  @OneToMany(() => Item, (item) => item.shelf, { cascade: true })
  items!: Item[];
}

@Entity('items')
export class Item {
  @PrimaryGeneratedColumn('increment', { type: 'bigint' })
  id!: number;

  @Column('varchar', { unique: true })
  name!: string;

  @Column('decimal', { precision: 10, scale: 2, default: '0.00' })
  price!: string;

  @Column('varchar', { length: 3, nullable: true })
  code!: string | null;

  @Column('decimal', { precision: 6, nullable: true })
  pieces!: string | null;

  @Column('decimal', { nullable: true })
  weight!: string | null;

  @Column('bigint', { nullable: true })
  big!: number | string | null;

  @Column('smallint', { nullable: true })
  small!: number | null;

  @Column('double precision', { nullable: true })
  rate!: number | null;

  @Column('date', { nullable: true })
  day!: string | null;

  @Column('time', { nullable: true })
  time!: string | null;

  @Column({ type: Boolean, default: 'false' })
  sold!: boolean;

  @Column('simple-json', { nullable: true })
  extra!: object | null;

  @CreateDateColumn()
  created!: Date;

  @UpdateDateColumn()
  updated!: Date;

  @DeleteDateColumn()
  deleted!: Date | null;

  @VersionColumn()
  version!: number;

  @ManyToOne(() => Shelf, (shelf) => shelf.items, { nullable: true, onDelete: 'CASCADE' })
  shelf!: Shelf | null;
}

@Entity('parcels')
export class Parcel {
  @PrimaryGeneratedColumn('uuid')
  id!: string;

  @Column('varchar', { unique: true })
  label!: string;

  @Column('integer', {
    default: 700,
    transformer: { to: (euros?: number) => euros && euros * 100, from: (cents: number) => cents / 100 },
  })
  euros!: number;

  @Column('simple-json', { default: '{}' })
  note!: string;

  @CreateDateColumn()
  created!: Date;
}

export interface Context {
  readonly dataSource: DataSource;
  readonly items: Repository<Item>;
  readonly shelves: Repository<Shelf>;
  /** A unique name, so that habits do not affect each other. */
  readonly name: string;
}

/** Does what ordinary code does, and expects a result. */
export type Habit = (context: Context) => Promise<unknown>;

export type Habits = Readonly<Record<string, Habit>>;

export const count = ({ items, name }: Context) => items.countBy({ name: Like(`${name}%`) });

export async function stored(items: Repository<Item>, values: Partial<Item>): Promise<Item> {
  const { identifiers } = await items.insert(values);
  return items.findOneByOrFail({ id: identifiers[0]!['id'] as number });
}
