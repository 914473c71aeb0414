import { Readable } from 'node:stream';
import {
  All,
  BadGatewayException,
  BadRequestException,
  Body,
  ConflictException,
  Controller,
  Get,
  HttpException,
  InternalServerErrorException,
  Module,
  NotFoundException,
  ServiceUnavailableException,
  type OnModuleInit,
  Param,
  Post,
  StreamableFile,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { TypeOrmModule } from '@nestjs/typeorm';
import { IsOptional } from 'class-validator';
import type { FastifyInstance } from 'fastify';
import {
  Column,
  DataSource,
  Entity,
  EntityManager,
  ManyToOne,
  OptimisticLockVersionMismatchError,
  PrimaryColumn,
} from 'typeorm';
import { Scopes } from '../../src/auth/scopes.decorator.js';
import { transaction } from '../../src/database/engine.js';
import { captureLog, type CapturedLine } from '../support/captured-log.js';
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

type Write = (manager: EntityManager, values: Values, id: number) => Promise<unknown>;

/** What handlers do with the database, by the name in their path. */
const WRITES: Readonly<Record<string, Write>> = {
  'add-shelf': (manager, values) => manager.getRepository(Shelf).insert(values),
  'remove-shelf': (manager, _values, id) => manager.getRepository(Shelf).delete(id),
  'find-shelf': (manager, _values, id) => manager.getRepository(Shelf).findOneByOrFail({ id }),
  'add-jar': (manager, values) => manager.getRepository(Jar).insert(values as Jar),
  'add-jar-in-transaction': (manager, values) => manager.transaction((inner) => inner.insert(Jar, values as Jar)),
  'add-jar-by-template': ({ dataSource }, { id, label, shelfId }) =>
    transaction(
      dataSource,
      (tx) => tx.sql`INSERT INTO jars (id, label, "shelfId") VALUES (${id}, ${label}, ${shelfId})`,
    ),
  'change-jar': (manager, values, id) => manager.getRepository(Jar).update(id, values as Jar),
  'move-jar': (manager, _values, id) => manager.getRepository(Jar).update(id, { shelfId: 9 }),
  'add-lid': ({ dataSource }, { id, shelfId }) =>
    transaction(dataSource, (tx) => tx.sql`INSERT INTO lids (id, jar) VALUES (${id}, ${shelfId})`),
};

@Controller()
@Scopes('cookies:write')
class PantryController {
  constructor(private readonly manager: EntityManager) {}

  @Post('pantry/:write')
  async write(@Param('write') write: string, @Body() values: Values): Promise<void> {
    await WRITES[write]!(this.manager, values, 1);
  }

  @All('pantry/:write/:id')
  async writeTo(@Param('write') write: string, @Param('id') id: string): Promise<void> {
    await WRITES[write]!(this.manager, {}, Number(id));
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
  let captured: CapturedLine[];
  const log = () => captured.map(({ level, message, rest }) => [level, message, ...rest].join(' '));

  beforeAll(async () => {
    const dataSource = service.app.get(DataSource);
    for (const sql of TABLES) await dataSource.query(sql);
    captured = captureLog();
    expect((await post('add-shelf', { id: 1, name: 'top' })).status).toBe(201);
    expect((await post('add-jar', { id: 1, label: 'plums', shelfId: 1 })).status).toBe(201);
  });

  beforeEach(() => captured.splice(0));

  const post = (write: string, body?: unknown) => client.request('POST', `/pantry/${write}`, { body });

  /** Expects no internal details: no SQL, and no names of tables or constraints. */
  const expectDiscreet = ({ text }: Answer) =>
    expect(text).not.toMatch(/secret|INSERT|UPDATE|constraint|SQLITE|jars|shelves|unique_name|label_length/);

  const unique = (property: string) => ({ pointer: `/${property}`, message: 'must be unique' });
  const FK_POINTER = { pointer: '/shelfId', message: 'refers to a record that does not exist' };

  const NO_SHELF = [jar({ shelfId: 9 }), 400, 'REFERENCE_NOT_FOUND', FK_POINTER] as const;
  const UNFIT = { pointer: '/label', message: 'is not a value that can be stored' };
  type Rejected = readonly [write: string, body: object | undefined, status: number, code: string, detail?: object];
  const REJECTED: Readonly<Record<string, Rejected>> = {
    'a key that exists': ['add-shelf', { id: 1, name: 'new' }, 409, 'ALREADY_EXISTS', unique('id')],
    'a unique value': ['add-shelf', { id: 3, name: 'top' }, 409, 'ALREADY_EXISTS', unique('name')],
    'a record with a missing parent': ['add-jar', ...NO_SHELF],
    'such a record in a transaction': ['add-jar-in-transaction', ...NO_SHELF],
    'such a record by a template': ['add-jar-by-template', ...NO_SHELF],
    'a change to a missing parent': ['change-jar', { shelfId: 9 }, 400, 'REFERENCE_NOT_FOUND', FK_POINTER],
    'an action that names a missing parent': ['move-jar/1', undefined, 400, 'REFERENCE_NOT_FOUND'],
    'the deletion of a record that others refer to': ['remove-shelf/1', undefined, 409, 'STILL_REFERENCED'],
    'a reference that only the commit finds broken': ['add-lid', { id: 1, shelfId: 9 }, 409, 'STILL_REFERENCED'],
    'a value that breaks a CHECK': ['add-jar', jar({ label: 'a very long label' }), 400, 'INVALID_REQUEST'],
    'null that the database rejects': ['add-jar', jar({ label: null }), 400, 'INVALID_REQUEST', UNFIT],
    'a record without a required value': ['add-jar-by-template', { id: 5, shelfId: 1 }, 400, 'INVALID_REQUEST'],
  };

  it.each(Object.entries(REJECTED))('POST of %s is rejected and logged in one line', async (_what, rejected) => {
    const [write, body, status, code, detail] = rejected;
    const response = await post(write, body);
    expectError(response, status, code);
    expect(response.body.details).toEqual(detail && [detail]);
    expectDiscreet(response);
    const level = status === 409 || code === 'REFERENCE_NOT_FOUND' ? 'log' : 'warn';
    const id = response.headers.get('x-request-id')!;
    expect(log()).toEqual([expect.stringMatching(new RegExp(`^${level} The database rejects a statement: .*${id}`))]);
    expect(log()[0]).not.toMatch(/very long|top/);
  });

  it('GET of an entity that TypeORM does not find is 404', async () => {
    const response = await client.get('/pantry/find-shelf/77');
    expectError(response, 404, 'NOT_FOUND');
    expect(response.body.message).toBe('There is no such record');
    expect(log()).toEqual([]);
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
      const response = await client.get(`/thrown/${name}`);
      expectError(response, status, errorCode);
      expect(response.body.message).toBe(message);
    },
  );

  it.each(Object.keys(THROWN).slice(9))(
    'an error that is not of this service is a 500 and is logged: %s',
    async (name) => {
      const response = await client.get(`/thrown/${name}`);
      expectError(response, 500, 'INTERNAL_SERVER_ERROR');
      expectDiscreet(response);
      expect(log()).toEqual([expect.stringMatching(/^error GET \/thrown\/:name failed /)]);
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
      expect(log().filter((line) => line.startsWith('error'))).toEqual([]);
    },
  );

  it.each(['server-error', 'status-of-another', 'no-status'])(
    'an error of a hook without a status for clients is a 500 and is logged: %s',
    async (name) => {
      const response = await client.get('/cookies', { 'x-hook': 'onRequest', 'x-plugin': name });
      expectError(response, 500, 'INTERNAL_SERVER_ERROR');
      expectDiscreet(response);
      expect(log()).toEqual([expect.stringMatching(/^error GET \/cookies failed /)]);
    },
  );

  it("an upstream's error in a stream that a handler has returned is a 500 and is logged", async () => {
    const response = await client.get('/broken-stream');
    expectError(response, 500, 'INTERNAL_SERVER_ERROR');
    expectDiscreet(response);
    expect(log()).toContainEqual(expect.stringMatching(/^error GET \/broken-stream failed /));
  });
});

function jar(properties: object): object {
  return { id: 9, label: 'figs', shelfId: 1, ...properties };
}
