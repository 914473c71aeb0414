import { randomBytes } from 'node:crypto';
import { Body, Controller, Get, Module, Param, Patch, Query } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { IsOptional } from 'class-validator';
import { Column, DataSource, Entity, PrimaryColumn, Repository } from 'typeorm';
import { Scopes } from '../../src/auth/scopes.decorator.js';
import { captureLog } from '../support/captured-log.js';
import { describePostgres, usePostgres } from '../support/engine.js';
import { expectError } from '../support/expect-error.js';
import { sharedService } from '../support/service.js';

usePostgres();

@Entity('things')
class Thing {
  @PrimaryColumn('uuid')
  id!: string;

  @Column('smallint', { default: 5 })
  number!: number;

  @Column('varchar', { default: '' })
  text!: string;

  @Column('date', { default: '2026-01-01' })
  day!: string;
}

/** A DTO without checks, so that the database rejects wrong values. */
class Values {
  @IsOptional() number?: number;
  @IsOptional() text?: string;
  @IsOptional() day?: string;
}

@Controller('things')
@Scopes('cookies:write')
class ThingsController {
  constructor(@InjectRepository(Thing) private readonly things: Repository<Thing>) {}

  @Get()
  withNumber(@Query() { number }: Values): Promise<Thing[]> {
    return this.things.findBy({ number });
  }

  @Get(':id')
  thing(@Param('id') id: string): Promise<Thing> {
    return this.things.findOneByOrFail({ id });
  }

  @Patch(':id')
  async change(@Param('id') id: string, @Body() body: Values): Promise<void> {
    await this.things.update(id, body);
  }

  @Patch('numbered/:number')
  async changeNumbered(@Param('number') number: string, @Body() body: Values): Promise<void> {
    await this.things.update({ number: Number(number) }, body);
  }
}

@Module({ imports: [TypeOrmModule.forFeature([Thing])], controllers: [ThingsController] })
class ThingsModule {}

const ID = '0190a6f0-0000-7000-8000-000000000001';

describePostgres('a value that its column cannot hold', () => {
  const { service, client } = sharedService({}, [ThingsModule]);

  beforeAll(async () => {
    const dataSource = service.app.get(DataSource);
    await dataSource.query(`CREATE TABLE things (id uuid PRIMARY KEY, number smallint, text varchar UNIQUE, day date)`);
    await dataSource.query(`INSERT INTO things (id) VALUES ('${ID}')`);
  });

  it.each<[what: string, method: string, path: string, body: object | undefined, status: 400 | 404]>([
    ['a text for the uuid in the path', 'GET', '/things/garbage', undefined, 404],
    ['a number of the path beyond the type', 'PATCH', '/things/numbered/70000', { text: 'x' }, 404],
    ['one with more digits than a number', 'PATCH', `/things/numbered/${'9'.repeat(20)}`, { text: 'x' }, 404],
    ['a number of the query beyond the type', 'GET', '/things?number=70000', undefined, 400],
    ['a number of the body beyond the type', 'PATCH', `/things/${ID}`, { number: 70_000 }, 400],
    ['NUL in a text', 'PATCH', `/things/${ID}`, { text: 'a\0b' }, 400],
    ['a text that its index cannot hold', 'PATCH', `/things/${ID}`, { text: randomBytes(2500).toString('hex') }, 400],
    ['a day that is none', 'PATCH', `/things/${ID}`, { day: '2026-02-31' }, 400],
  ])('is %s: %s %s', async (_what, method, path, body, status) => {
    const log = captureLog();
    const response = await client.request(method, path, { body });
    expectError(response, status, status === 404 ? 'NOT_FOUND' : 'INVALID_REQUEST');
    expect(response.text).not.toMatch(/smallint|uuid|syntax|btree|UPDATE|SELECT|\$1/);
    const line = /^The database rejects a statement: a value that its column cannot hold \((22...|54000)\) \(request /;
    expect(log.map(({ message }) => message)).toEqual([expect.stringMatching(line)]);
  });
});
