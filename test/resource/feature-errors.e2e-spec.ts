import { Readable } from 'node:stream';
import {
  BadGatewayException,
  BadRequestException,
  Body,
  ConflictException,
  Controller,
  Delete,
  Get,
  HttpException,
  InternalServerErrorException,
  Logger,
  Module,
  NotFoundException,
  ServiceUnavailableException,
  type OnModuleInit,
  Param,
  Patch,
  Post,
  StreamableFile,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { IsOptional } from 'class-validator';
import type { FastifyInstance } from 'fastify';
import {
  Column,
  DataSource,
  Entity,
  ManyToOne,
  OptimisticLockVersionMismatchError,
  PrimaryColumn,
  Repository,
} from 'typeorm';
import { Scopes } from '../../src/auth/scopes.decorator.js';
import { transaction } from '../../src/database/engine.js';
import { expectError } from '../support/expect-error.js';
import { type Answer, sharedService } from '../support/service.js';

@Entity('shelves')
class Shelf {
  @PrimaryColumn()
  id!: number;

  @Column('varchar', { unique: true })
  name!: string;
}

@Entity('jars')
class Jar {
  @PrimaryColumn()
  id!: number;

  @Column('varchar')
  label!: string;

  @Column('integer')
  shelfId!: number;

  @ManyToOne(() => Shelf)
  shelf?: Shelf;
}

const TABLES = [
  'CREATE TABLE shelves (id integer PRIMARY KEY, name varchar NOT NULL CONSTRAINT unique_name UNIQUE)',
  `CREATE TABLE jars (id integer PRIMARY KEY, label varchar NOT NULL CONSTRAINT label_length CHECK (length(label) < 10),
     "shelfId" integer NOT NULL CONSTRAINT jar_on_shelf REFERENCES shelves (id))`,
  // A table without an entity, whose foreign key is checked only by the commit.
  'CREATE TABLE lids (id integer PRIMARY KEY, jar integer NOT NULL REFERENCES jars (id) DEFERRABLE INITIALLY DEFERRED)',
];

/** A DTO without checks, so that the database rejects wrong values. */
class Values {
  @IsOptional() id?: number;
  @IsOptional() name?: string;
  @IsOptional() label?: string | null;
  @IsOptional() shelfId?: number;
}

/** Errors of libraries: a numeric code, the status of another service, the error code of another database. */
const foreign = (properties: object) => Object.assign(new Error('secret inside'), properties);

const THROWN: Readonly<Record<string, unknown>> = {
  'not-found': new NotFoundException('There is no jar 5'),
  'conflict-with-code': new ConflictException('The jar is open', { errorCode: 'JAR_OPEN' }),
  'code-with-a-digit': new NotFoundException('There is no jar 2', { errorCode: 'JAR2_NOT_FOUND' }),
  'unavailable-with-code': new ServiceUnavailableException('The oven cools down', { errorCode: 'OVEN_COLD' }),
  'conflict-with-odd-code': new ConflictException('The jar is open', { errorCode: 'JAR open' }),
  'list-of-messages': new BadRequestException(['label is too short', 'label is no label']),
  'bad-gateway': new BadGatewayException('The oven does not respond'),
  // As with the absent body of another service: `new HttpException(response.data, response.status)`.
  'without-a-response': new HttpException(undefined as never, 418),
  'optimistic-lock': new OptimisticLockVersionMismatchError('Jar', 1, 2),
  internal: new InternalServerErrorException('secret inside'),
  'no-status': new HttpException('secret inside', 42),
  'numeric-code': foreign({ code: 23505 }),
  'status-of-another': foreign({ statusCode: 404, status: 404 }),
  'fastify-status': foreign({ code: 'FST_ERR_CTP_BODY_TOO_LARGE', name: 'FastifyError', statusCode: 413 }),
  'parser-of-a-client': foreign({ code: 'HPE_INVALID_CONSTANT' }),
  'another-postgres': foreign({ code: '23505', severity: 'ERROR' }),
  'get-status': foreign({ getStatus: () => 503 }),
  null: null,
  string: 'secret inside',
  'without-prototype': Object.create(null) as object,
};

@Controller()
@Scopes('cookies:write')
class PantryController {
  constructor(
    @InjectRepository(Shelf) private readonly shelves: Repository<Shelf>,
    @InjectRepository(Jar) private readonly jars: Repository<Jar>,
    private readonly dataSource: DataSource,
  ) {}

  @Post('shelves')
  async addShelf(@Body() body: Values): Promise<void> {
    await this.shelves.insert(body);
  }

  @Patch('shelves/:id')
  async changeShelf(@Param('id') id: string, @Body() body: Values): Promise<void> {
    await this.shelves.update(Number(id), body);
  }

  @Delete('shelves/:id')
  async removeShelf(@Param('id') id: string): Promise<void> {
    await this.shelves.delete(Number(id));
  }

  @Get('shelves/:id')
  shelf(@Param('id') id: string): Promise<Shelf> {
    return this.shelves.findOneByOrFail({ id: Number(id) });
  }

  @Post('jars')
  async addJar(@Body() body: Values): Promise<void> {
    await this.jars.insert(body as Jar);
  }

  @Post('jars-in-transaction')
  async addJarInTransaction(@Body() body: Values): Promise<void> {
    await this.dataSource.transaction((manager) => manager.insert(Jar, body as Jar));
  }

  @Post('jars-by-template')
  async addJarByTemplate(@Body() { id, label, shelfId }: Values): Promise<void> {
    await transaction(
      this.dataSource,
      (tx) => tx.sql`INSERT INTO jars (id, label, "shelfId") VALUES (${id}, ${label}, ${shelfId})`,
    );
  }

  @Patch('jars/:id')
  async changeJar(@Param('id') id: string, @Body() body: Values): Promise<void> {
    await this.jars.update(Number(id), body as Jar);
  }

  @Post('jars/:id/move/:shelf')
  async moveJar(@Param('id') id: string, @Param('shelf') shelf: string): Promise<void> {
    await this.jars.update(Number(id), { shelfId: Number(shelf) });
  }

  @Post('lids')
  async addLid(@Body() { id, shelfId }: Values): Promise<void> {
    await transaction(this.dataSource, (tx) => tx.sql`INSERT INTO lids (id, jar) VALUES (${id}, ${shelfId})`);
  }

  /** Fails before the first byte of the body, with an error of an upstream service. */
  @Get('broken-stream')
  brokenStream(): StreamableFile {
    const upstream = new Readable({ read: () => void upstream.destroy(foreign({ statusCode: 404 })) });
    return new StreamableFile(upstream);
  }

  @Get('thrown/:name')
  thrown(@Param('name') name: string): void {
    throw THROWN[name];
  }
}

/** Errors that hooks of Fastify throw, by the name in `x-plugin`, such as that of @fastify/rate-limit. */
const THROWN_BY_PLUGINS: Readonly<Record<string, unknown>> = {
  'rate-limit': foreign({ statusCode: 429 }),
  banned: foreign({ statusCode: 403 }),
  object: { statusCode: 429, error: 'Too Many Requests', message: 'secret inside' },
  pressure: foreign({ name: 'FastifyError', code: 'FST_UNDER_PRESSURE', statusCode: 503 }),
  'its-own': new ConflictException('The lid is on', { errorCode: 'LID_ON' }),
  'its-own-pause': new ServiceUnavailableException('The oven is cold'),
  'server-error': foreign({ statusCode: 502 }),
  'status-of-another': foreign({ status: 404, response: { status: 404 } }),
  'no-status': foreign({}),
};

/** Registers plugins of Fastify in a module, as teams do. */
@Module({ imports: [TypeOrmModule.forFeature([Shelf, Jar])], controllers: [PantryController] })
class PantryModule implements OnModuleInit {
  constructor(private readonly host: HttpAdapterHost<FastifyAdapter>) {}

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    for (const hook of ['onRequest', 'preHandler'] as const) {
      fastify.addHook(hook, async (request, reply) => {
        const { 'x-hook': chosen, 'x-plugin': name } = request.headers;
        if (chosen !== hook) return;
        reply.header('retry-after', 7).header('x-ratelimit-remaining', 0);
        throw THROWN_BY_PLUGINS[name as string];
      });
    }
  }
}

describe('errors of a feature', () => {
  const { service, client } = sharedService({}, [PantryModule]);
  const log: string[] = [];

  beforeAll(async () => {
    const dataSource = service.app.get(DataSource);
    for (const sql of TABLES) await dataSource.query(sql);
    const note =
      (level: string) =>
      (...all: unknown[]): void => {
        const line = `${level} ${all.join(' ')}`;
        // A busy disk can slow down any statement.
        if (!line.startsWith('warn A statement took ')) log.push(line);
      };
    Logger.overrideLogger({ log: note('log'), warn: note('warn'), error: note('error'), fatal: note('fatal') });
    expect((await send('POST', '/shelves', { id: 1, name: 'top' })).status).toBe(201);
    expect((await send('POST', '/shelves', { id: 2, name: 'empty' })).status).toBe(201);
    expect((await send('POST', '/jars', { id: 1, label: 'plums', shelfId: 1 })).status).toBe(201);
  });

  beforeEach(() => log.splice(0));

  const send = (method: string, path: string, body?: unknown) => client.request(method, path, { body });

  /** Expects no internal details: no SQL, and no names of tables or constraints. */
  const expectDiscreet = ({ text }: Answer) =>
    expect(text).not.toMatch(/secret|INSERT|UPDATE|constraint|SQLITE|jars|shelves|unique_name|label_length/);

  const unique = (property: string) => ({ pointer: `/${property}`, message: 'must be unique' });
  const FK_POINTER = { pointer: '/shelfId', message: 'refers to a record that does not exist' };

  const NO_SHELF = [jar({ shelfId: 9 }), 400, 'REFERENCE_NOT_FOUND', FK_POINTER] as const;
  const UNFIT = { pointer: '/label', message: 'is not a value that can be stored' };
  type Rejected = readonly [request: string, body: object | undefined, status: number, code: string, detail?: object];
  const REJECTED: Readonly<Record<string, Rejected>> = {
    'POST of a key that exists': ['POST /shelves', { id: 1, name: 'new' }, 409, 'ALREADY_EXISTS', unique('id')],
    'POST of a unique value': ['POST /shelves', { id: 3, name: 'top' }, 409, 'ALREADY_EXISTS', unique('name')],
    'POST of a record with a missing parent': ['POST /jars', ...NO_SHELF],
    'POST of it in a transaction': ['POST /jars-in-transaction', ...NO_SHELF],
    'POST of it by a template': ['POST /jars-by-template', ...NO_SHELF],
    'PATCH to a missing parent': ['PATCH /jars/1', { shelfId: 9 }, 400, 'REFERENCE_NOT_FOUND', FK_POINTER],
    'POST of an action that names a missing parent': ['POST /jars/1/move/9', undefined, 400, 'REFERENCE_NOT_FOUND'],
    'DELETE of a record that others refer to': ['DELETE /shelves/1', undefined, 409, 'STILL_REFERENCED'],
    'a reference that only the commit finds broken': ['POST /lids', { id: 1, shelfId: 9 }, 409, 'STILL_REFERENCED'],
    'POST that breaks a CHECK': ['POST /jars', jar({ label: 'a very long label' }), 400, 'INVALID_REQUEST'],
    'POST of null that the database rejects': ['POST /jars', jar({ label: null }), 400, 'INVALID_REQUEST', UNFIT],
    'POST without a required value': ['POST /jars-by-template', { id: 5, shelfId: 1 }, 400, 'INVALID_REQUEST'],
  };

  it.each(Object.entries(REJECTED))('%s is rejected and logged in one line', async (_what, rejected) => {
    const [request, body, status, code, detail] = rejected;
    const [method, path] = request.split(' ') as [string, string];
    const response = await send(method, path, body);
    expectError(response, status, code);
    expect(response.body.details).toEqual(detail && [detail]);
    expectDiscreet(response);
    const level = status === 409 || code === 'REFERENCE_NOT_FOUND' ? 'log' : 'warn';
    const id = response.headers.get('x-request-id')!;
    expect(log).toEqual([expect.stringMatching(new RegExp(`^${level} The database rejects a statement: .*${id}`))]);
    expect(log[0]).not.toMatch(/very long|top/);
  });

  it('GET of an entity that TypeORM does not find is 404', async () => {
    const response = await send('GET', '/shelves/77');
    expectError(response, 404, 'NOT_FOUND');
    expect(response.body.message).toBe('There is no such record');
    expect(log).toEqual([]);
  });

  it.each([
    ['not-found', 404, 'NOT_FOUND', 'There is no jar 5'],
    ['conflict-with-code', 409, 'JAR_OPEN', 'The jar is open'],
    ['code-with-a-digit', 404, 'JAR2_NOT_FOUND', 'There is no jar 2'],
    ['unavailable-with-code', 503, 'OVEN_COLD', 'The oven cools down'],
    ['conflict-with-odd-code', 409, 'CONFLICT', 'The jar is open'],
    ['list-of-messages', 400, 'BAD_REQUEST', 'label is too short; label is no label'],
    ['bad-gateway', 502, 'BAD_GATEWAY', 'The oven does not respond'],
    ['without-a-response', 418, 'I_M_A_TEAPOT', 'Http Exception'],
    ['optimistic-lock', 409, 'CONFLICT', 'Another request has changed the record; read it again, then repeat'],
  ])(
    'an exception of Nest, or of an optimistic lock, has its status, code and message: %s',
    async (name, status, errorCode, message) => {
      const response = await send('GET', `/thrown/${name}`);
      expectError(response, status, errorCode);
      expect(response.body.message).toBe(message);
    },
  );

  it.each(Object.keys(THROWN).slice(9))(
    'an error that is not of this service is a 500 and is logged: %s',
    async (name) => {
      const response = await send('GET', `/thrown/${name}`);
      expectError(response, 500, 'INTERNAL_SERVER_ERROR');
      expectDiscreet(response);
      expect(log).toEqual([expect.stringMatching(/^error GET \/thrown\/:name failed /)]);
    },
  );

  it.each([
    ['rate-limit', 429, 'TOO_MANY_REQUESTS'],
    ['object', 429, 'TOO_MANY_REQUESTS'],
    ['banned', 403, 'FORBIDDEN'],
    ['pressure', 503, 'SERVICE_UNAVAILABLE'],
    ['its-own', 409, 'LID_ON'],
    ['its-own-pause', 503, 'SERVICE_UNAVAILABLE'],
  ])(
    'the error of a hook of Fastify has its status, and the header fields of the plugin: %s',
    async (name, status, code) => {
      for (const hook of ['onRequest', 'preHandler']) {
        const response = await client.get('/cookies', { 'x-hook': hook, 'x-plugin': name });
        expectError(response, status, code);
        expectDiscreet(response);
        expect(response.headers.get('retry-after')).toBe('7');
        expect(response.headers.get('x-ratelimit-remaining')).toBe('0');
      }
      expect(log.filter((line) => line.startsWith('error'))).toEqual([]);
    },
  );

  it.each(['server-error', 'status-of-another', 'no-status'])(
    'an error of a hook without a status for clients is a 500 and is logged: %s',
    async (name) => {
      const response = await client.get('/cookies', { 'x-hook': 'onRequest', 'x-plugin': name });
      expectError(response, 500, 'INTERNAL_SERVER_ERROR');
      expectDiscreet(response);
      expect(log).toEqual([expect.stringMatching(/^error GET \/cookies failed /)]);
    },
  );

  it("an upstream's error in a stream that a handler has returned is a 500 and is logged", async () => {
    const response = await client.get('/broken-stream');
    expectError(response, 500, 'INTERNAL_SERVER_ERROR');
    expectDiscreet(response);
    expect(log).toContainEqual(expect.stringMatching(/^error GET \/broken-stream failed /));
  });
});

function jar(properties: object): object {
  return { id: 9, label: 'figs', shelfId: 1, ...properties };
}
