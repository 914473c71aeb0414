import { Column, type DataSource, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';
import { loadConfig } from '../../config/config.js';
import { createDataSource } from '../../database/data-source.js';
import type { AnyResourceEntity } from '../../resource/resource-entity.js';
import type { OpenStorage } from '../resources/open-storage.js';
import type { Entry } from './import-input.js';
import { UniqueValues } from './unique-values.js';
import { environmentIn, temporaryFolder } from '../../../test/support/service.js';

@Entity('seats')
@Index(['row', 'place'], { unique: true })
class Seat implements AnyResourceEntity {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column('integer')
  revision!: number;

  @Column('varchar', { unique: true, nullable: true })
  code!: string | null;

  @Column('varchar')
  row!: string;

  @Column('integer')
  place!: number;
}

describe('the unique values of an import', () => {
  let dataSource: DataSource;
  let unique: UniqueValues;

  beforeAll(async () => {
    dataSource = await createDataSource(loadConfig(environmentIn(temporaryFolder())), [Seat]);
    await dataSource.initialize();
    await dataSource.driver.createSchemaBuilder().build();
    await dataSource.getRepository(Seat).insert({ id: 7, revision: 1, code: 'A', row: 'x', place: 1 });
  });

  beforeEach(() => {
    unique = new UniqueValues({ repository: dataSource.getRepository(Seat) } as unknown as OpenStorage);
  });

  afterAll(() => dataSource.destroy());

  const entry = (number: number, record: object): Entry => ({
    number,
    record,
    digest: '',
  });

  it('name the line, the property and the record that holds the value', async () => {
    const lines = [entry(1, { code: 'B', row: 'y', place: 1 }), entry(2, { code: 'A', row: 'y', place: 2 })];
    expect(await unique.problemsOf(lines)).toEqual([
      { line: 2, problem: '"code" must be unique, and the stored record 7 has the same value' },
    ]);
  });

  it('name the earlier line, also of an earlier batch, and several properties together', async () => {
    expect(await unique.problemsOf([entry(1, { code: 'B', row: 'y', place: 1 })])).toEqual([]);
    expect(await unique.problemsOf([entry(1001, { code: 'C', row: 'y', place: 1 })])).toEqual([
      { line: 1001, problem: '"row" with "place" must be unique, and line 1 has the same value' },
    ]);
  });

  it('may be null any number of times', async () => {
    const lines = [1, 2, 3].map((number) => entry(number, { code: null, row: 'z', place: number }));
    expect(await unique.problemsOf(lines)).toEqual([]);
  });
});
