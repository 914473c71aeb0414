import { Logger } from '@nestjs/common';
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
import { loadConfig } from '../../src/config/config.js';
import { createDataSource } from '../../src/database/data-source.js';
import { migrate } from '../../src/database/schema/migrations.js';
import { createDatabase, describeEngines, dropDatabases } from '../support/engine.js';
import { environmentIn, temporaryFolder } from '../support/service.js';

/** Milliseconds that a transaction of the habits may last. */
export const TRANSACTION_TIMEOUT = 1000;

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
  @PrimaryGeneratedColumn()
  id!: number;

  @Column('varchar', { unique: true })
  name!: string;

  @Column('decimal', { precision: 10, scale: 2, default: 0 })
  price!: string;

  @Column('decimal', { precision: 6, nullable: true })
  pieces!: string | null;

  @Column('bigint', { nullable: true })
  big!: number | string | null;

  @Column('boolean', { default: false })
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

export interface Context {
  readonly dataSource: DataSource;
  readonly items: Repository<Item>;
  readonly shelves: Repository<Shelf>;
  /** A unique name, so that habits do not affect each other. */
  readonly name: string;
}

export type Habit = (context: Context) => Promise<unknown>;

/** Each habit with the expected value or error (its class, or a part of its message). */
export type Habits = Readonly<Record<string, [habit: Habit, expected: unknown]>>;

export const count = ({ items, name }: Context) => items.countBy({ name: Like(`${name}%`) });

export async function stored(items: Repository<Item>, values: Partial<Item>): Promise<Item> {
  const { identifiers } = await items.insert(values);
  return items.findOneByOrFail({ id: identifiers[0]!['id'] as number });
}

/** Expects equal outcomes of ordinary TypeORM code on both engines. */
export function describeHabits(title: string, habits: Habits): void {
  describeEngines(title, (engine) => {
    let dataSource: DataSource;

    beforeAll(async () => {
      Logger.overrideLogger(false);
      const url = engine === 'postgres' && { DATABASE_URL: await createDatabase(`habits_${process.pid}`) };
      const environment = environmentIn(temporaryFolder(), {
        DATABASE_TRANSACTION_TIMEOUT: String(TRANSACTION_TIMEOUT),
        ...url,
      });
      dataSource = await createDataSource(loadConfig(environment), [Shelf, Item]);
      await dataSource.initialize();
      await migrate(dataSource);
      await dataSource.driver.createSchemaBuilder().build();
    });

    afterAll(async () => {
      await dataSource.destroy();
      await dropDatabases();
    });

    it('the entities are equal to the schema they made', async () => {
      expect((await dataSource.driver.createSchemaBuilder().log()).upQueries).toEqual([]);
    });

    it.each(Object.entries(habits).map(([what, [habit, expected]], index) => ({ what, habit, expected, index })))(
      '$what',
      async ({ habit, expected, index }) => {
        const items = dataSource.getRepository(Item);
        const shelves = dataSource.getRepository(Shelf);
        const outcome = await habit({ dataSource, items, shelves, name: `habit ${index}` }).catch(
          (error: unknown) => error,
        );
        if (typeof expected === 'function') expect(outcome).toBeInstanceOf(expected);
        else if (outcome instanceof Error && typeof expected === 'string') expect(outcome.message).toContain(expected);
        else expect(outcome).toEqual(expected);
      },
    );
  });
}
