import { closeSync, openSync, readFileSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Body, Controller, Module, Post } from '@nestjs/common';
import { Validator } from '@seriousme/openapi-schema-validator';
import { IsInt } from 'class-validator';
import { Scopes } from '../../src/auth/scopes.decorator.js';
import { openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import type { Environment } from '../../src/config/config.js';
import { IntegerProperty } from '../../src/resource/properties.js';
import { withoutRequestId } from '../support/expect-error.js';
import { leaveNoRoom } from '../support/faults/full-database.js';
import { OpenApiDocument } from '../support/openapi-document.js';
import { exchangeOne, request } from '../support/raw-http.js';
import { type Answer, Client, COOKIE, type Service, sharedService, startService } from '../support/service.js';

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
type Operation = readonly [Method, '/cookies' | '/cookies/{id}'];

const OPERATIONS: readonly Operation[] = [
  ['get', '/cookies'],
  ['post', '/cookies'],
  ['get', '/cookies/{id}'],
  ['put', '/cookies/{id}'],
  ['patch', '/cookies/{id}'],
  ['delete', '/cookies/{id}'],
];
const ON_A_RECORD = OPERATIONS.filter(([, path]) => path === '/cookies/{id}');
const READS = OPERATIONS.filter(([method]) => method === 'get');
const WRITES_OF_A_RECORD = ON_A_RECORD.filter(([method]) => method !== 'get');

const { wish: _, ...REPLACEMENT } = { ...COOKIE, size: 'large' };
const BODIES: Partial<Record<Method, object>> = { post: COOKIE, put: REPLACEMENT, patch: { flavor: 'cinnamon' } };

class LetterDto {
  @IntegerProperty(0, 2 ** 31)
  weight!: number;

  @IsInt()
  stamps!: number;
}

@Controller('letters')
class LettersController {
  @Post()
  @Scopes('cookies:write')
  create(@Body() letter: LetterDto) {
    return letter;
  }
}

@Module({ controllers: [LettersController] })
class LettersModule {}

interface Seen {
  readonly operation: Operation;
  readonly answer: Answer;
}

/** Statuses of the platform. `describeResource` tests the statuses of the resource. */
const OF_THE_PLATFORM = ['408', '413', '417', '429', '431', '500', '501', '503', '505', '507'];

/** Requires a connection that breaks during a commit; `postgres-connections.e2e-spec.ts` tests its example. */
const NEEDS_A_LOST_RESPONSE = 'OUTCOME_UNKNOWN';

describe('the OpenAPI document', () => {
  const { service: ordinary, client } = sharedService();
  const seen: Seen[] = [];
  let document: any;
  let described: OpenApiDocument;

  beforeAll(async () => {
    described = await OpenApiDocument.of(ordinary);
    document = described.json;
    await driveProtocolErrors();
    await driveLateRequests();
    await driveWith({ MAINTENANCE: 'true' });
    const limits = { RATE_LIMIT_SUBJECT_READ: '10', RATE_LIMIT_SUBJECT_WRITE: '10', RATE_LIMIT_SUBJECT_LIST: '10' };
    await driveWith(limits, OPERATIONS, undefined, 11);
    await driveWith({ COOKIES_CAPACITY: '0' }, [['post', '/cookies']]);
    await driveWith({}, [['post', '/cookies'], ...WRITES_OF_A_RECORD], leaveNoRoom);
    for (const harm of [dropTables, overwrite]) {
      await driveWith({}, OPERATIONS, ({ folder }) => harm(join(folder, 'cookies.sqlite')));
    }
  });

  /** Sends a valid request of the operation, and keeps the response. */
  async function drive(client: Client, operation: Operation): Promise<void> {
    const [method, path] = operation;
    const answer = await client.request(method.toUpperCase(), path.replace('{id}', '1'), { body: BODIES[method] });
    seen.push({ operation, answer });
  }

  /** Sends requests that the service rejects before it looks for an operation. */
  async function driveProtocolErrors(): Promise<void> {
    const host = 'Host: cookies';
    const extension = `1;${'x'.repeat(20_000)}\r\n \r\n0\r\n\r\n`;
    const heads: readonly (readonly [version: string, lines: readonly string[], body?: string])[] = [
      ['HTTP/1.1', [host, 'Not a header field']],
      ['HTTP/1.1', ['Connection: close']],
      ['HTTP/1.1', [host, 'Expect: the-impossible', 'Connection: close']],
      ['HTTP/1.1', [host, `X-Padding: ${'x'.repeat(20_000)}`]],
      ['HTTP/1.1', [host, 'Connection: close', ...Array<string>(2000).fill('A:')]],
      ['HTTP/1.1', [host, 'Transfer-Encoding: gzip, chunked', 'Connection: close']],
      ['HTTP/1.1', [host, 'Transfer-Encoding: chunked', 'Connection: close'], extension],
      ['HTTP/2.0', [host]],
    ];
    for (const operation of OPERATIONS) {
      for (const [version, lines, body] of heads) {
        const bytes = request([`${requestTarget(operation)} ${version}`, ...lines], body);
        seen.push({ operation, answer: await exchangeOne(ordinary, bytes) });
      }
    }
  }

  async function driveLateRequests(): Promise<void> {
    await using service = await startService({ REQUEST_TIMEOUT: '1000' });
    const answers = OPERATIONS.map(async (operation) => {
      const half = Buffer.from(`${requestTarget(operation)} HTTP/1.1\r\nHost: coo`);
      return { operation, answer: await exchangeOne(service, half) };
    });
    seen.push(...(await Promise.all(answers)));
  }

  /** Drives operations on a service with other settings, or with a problem that `prepare` makes. */
  async function driveWith(
    environment: Environment,
    operations = OPERATIONS,
    prepare: (service: Service) => void = () => {},
    requests = 1,
  ): Promise<void> {
    await using service = await startService(environment);
    const client = Client.of(service);
    // The record of the operations; rejected in maintenance and by a capacity of 0.
    await client.post(COOKIE);
    prepare(service);
    for (const operation of operations) {
      for (let request = 0; request < requests; request++) await drive(client, operation);
    }
  }

  it('is valid OpenAPI 3', async () => {
    const validator = new Validator();
    expect(await validator.validate(document)).toEqual({ valid: true });
    expect(validator.version).toBe('3.0');
  });

  it('has the version of the package', () => {
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'));
    expect(document.info.version).toBe(version);
  });

  it('describes what a resource stores, and the Location of a new record', () => {
    expect(document.tags).toContainEqual({ name: 'cookies', description: 'The stored cookies' });
    expect(document.components.headers.Location.example).toBe('/cookies/1');
  });

  it('describes the routes that the service has, and no others', () => {
    const described = Object.entries<object>(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method} ${path}`),
    );
    expect(described).toEqual(expect.arrayContaining(OPERATIONS.map(([method, path]) => `${method} ${path}`)));
    expect(routesOf(ordinary).sort()).toEqual(described.sort());
  });

  it.each(OPERATIONS)('describes every response of %s %s: status, header fields and body', (method, path) => {
    const answers = answersOf(method, path);
    expect(answers.length).toBeGreaterThan(0);
    for (const answer of answers) {
      described.expectDescribed(answer, document.paths[path][method].responses[answer.status]);
    }
  });

  it.each(OPERATIONS)('describes no status of the platform that %s %s never returns', (method, path) => {
    const described = Object.keys(document.paths[path][method].responses);
    const answered = answersOf(method, path).map(({ status }) => String(status));
    expect(described.filter((status) => OF_THE_PLATFORM.includes(status) && !answered.includes(status))).toEqual([]);
  });

  it.each(OPERATIONS)('shows error bodies of the platform that %s %s really returns', (method, path) => {
    const real = answersOf(method, path).map(({ body }) => withoutRequestId(body));
    for (const [status, { content }] of Object.entries<any>(document.paths[path][method].responses)) {
      for (const { value } of Object.values<any>(content?.['application/json'].examples ?? {})) {
        const isOfThePlatform = OF_THE_PLATFORM.includes(status) || value.errorCode === 'BAD_REQUEST';
        if (!isOfThePlatform || value.errorCode === NEEDS_A_LOST_RESPONSE) continue;
        expect(real).toContain(withoutRequestId(value));
      }
    }
  });

  it.each(OPERATIONS)('has an example with every error code of the platform that %s %s returns', (method, path) => {
    const listed = described.errorCodes(method.toUpperCase(), path);
    const codes = answersOf(method, path).flatMap(({ body }) => body?.errorCode ?? []);
    if (method !== 'get') codes.push(NEEDS_A_LOST_RESPONSE);
    expect(listed).toEqual(expect.arrayContaining(codes));
  });

  it('has one schema for each enum, to which everything else refers', () => {
    const { CookieFlavor, CookieSize, CookieSort } = document.components.schemas;
    expect(CookieFlavor.enum).toEqual(['chocolate', 'vanilla', 'cinnamon']);
    expect(CookieSize.enum).toEqual(['small', 'medium', 'large']);
    expect(CookieSort).toMatchObject({ enum: ['id', '-id'], 'x-enum-varnames': ['IdAscending', 'IdDescending'] });
    const text = JSON.stringify(document);
    // Another resource may have an enum with equal values in its own schema.
    const named = Object.values<any>(document.components.schemas).map(({ enum: values }) => JSON.stringify(values));
    for (const { enum: values } of [CookieFlavor, CookieSize, CookieSort]) {
      const schemas = named.filter((each) => each === JSON.stringify(values));
      expect(text.split(`"enum":${JSON.stringify(values)}`)).toHaveLength(1 + schemas.length);
    }
    // Three bodies, the record and the filter refer to the schema directly, without a wrapper.
    for (const name of ['CookieFlavor', 'CookieSize']) {
      expect(text.split(`{"$ref":"#/components/schemas/${name}"}`)).toHaveLength(1 + 5);
    }
    expect(text).not.toMatch(/"(allOf|oneOf|anyOf)":\[\{"\$ref":"#\/components\/schemas\/(Cookie|Error)/);
  });

  it('has no component to which nothing refers, as linters demand', () => {
    const { headers, schemas } = document.components;
    const unused = [...Object.keys(headers), ...Object.keys(schemas)].filter(
      (name) => !JSON.stringify(document).includes(`/${name}"}`),
    );
    expect(unused).toEqual([]);
  });

  it('closes the schemas of request bodies and of the record, but not of errors', () => {
    const { schemas } = document.components;
    for (const name of ['CookieDto', 'CreateCookieDto', 'PatchCookieDto', 'ReplaceCookieDto']) {
      expect([name, schemas[name].additionalProperties]).toEqual([name, false]);
    }
    for (const name of ['ErrorDto', 'ErrorDetail']) {
      expect([name, schemas[name].type, schemas[name].additionalProperties]).toEqual([name, 'object', undefined]);
    }
    expect(JSON.stringify(document)).not.toContain('x-closed');
  });

  it('leaves the schema of a body open if a property has a validator, and no @ApiProperty()', async () => {
    await using service = await startService({}, [LettersModule]);
    const { json } = await OpenApiDocument.of(service);
    expect(json.components.schemas.LetterDto.additionalProperties).toBeUndefined();
    expect(json.components.schemas.LetterDto.properties.weight.format).toBe('int64');
    const body = { weight: 5, stamps: 1 };
    expect((await Client.of(service).request('POST', '/letters', { body })).status).toBe(201);
  });

  it('makes describeResource name a route that a resource does not have', () => {
    expect(() => described.bodySchema('patch', '/cookies')).toThrow('no PATCH /cookies with a JSON body');
  });

  it('gives a detail of an error one schema, in which only the message is required', () => {
    const { ErrorDto, ErrorDetail } = document.components.schemas;
    const items = { $ref: '#/components/schemas/ErrorDetail' };
    expect(ErrorDto.properties.details).toMatchObject({ type: 'array', items });
    expect(Object.keys(ErrorDetail.properties)).toEqual(['message', 'pointer', 'parameter']);
    expect(ErrorDetail.required).toEqual(['message']);
  });

  it('has If-Match before If-None-Match in every operation with conditions', () => {
    for (const [method, path] of [...READS, ...WRITES_OF_A_RECORD]) {
      const names = document.paths[path][method].parameters.map(({ name }: any) => name);
      expect(names.slice(-3)).toEqual(['If-Match', 'If-None-Match', 'X-Request-Id']);
    }
  });

  it('has X-Request-Id without a pattern, since another value is replaced and not rejected', () => {
    for (const [method, path] of OPERATIONS) {
      const parameter = document.paths[path][method].parameters.find(({ name }: any) => name === 'X-Request-Id');
      expect(parameter.schema).toEqual({ type: 'string', maxLength: 16_384 });
    }
  });

  it('has one media type for PATCH, and describes the other one in words', () => {
    const { requestBody, description } = document.paths['/cookies/{id}'].patch;
    expect(Object.keys(requestBody.content)).toEqual(['application/json']);
    expect(requestBody.required).toBe(true);
    expect(description).toContain('application/merge-patch+json');
  });

  it('describes the token for client teams, and nothing of this repository', () => {
    const { bearer } = document.components.securitySchemes;
    expect(bearer).toMatchObject({ type: 'http', scheme: 'bearer', description: expect.stringContaining('operators') });
    expect(JSON.stringify(document)).not.toContain('npm run');
  });

  it.each(['', 'u'])('has a pattern of the wish that has one meaning with the flags "%s"', (flags) => {
    const pattern = new RegExp(document.components.schemas.CreateCookieDto.properties.wish.pattern, flags);
    for (const wish of ['x', '🍪', 'a🍪\n\t\u{10ffff}', '\ud7ff\ue000\uffff', '\u0001']) {
      expect([wish, pattern.test(wish)]).toEqual([wish, true]);
    }
    for (const wish of ['\0', 'a\0b', '\ud83c', '\udf6a', '\udf6a\ud83c', '🍪\ud83c', '\ud83cx', 'x\udf6a']) {
      expect([wish, pattern.test(wish)]).toEqual([wish, false]);
    }
  });

  it.each([
    ...['limit=1', 'limit=1000', 'limit=0', 'limit=1001', 'limit=1.5', 'sort=id', 'sort=-id', 'sort=wish'],
    ...['after=0', 'after=9007199254740991', 'after=9007199254740992', 'after=-1', 'size=huge'],
    ...['flavor=vanilla', 'flavor=vanilla&flavor=chocolate', 'flavor=vanilla&flavor=vanilla'],
    ...['flavor=vanilla,chocolate', 'size=small&size=medium&size=large'],
  ])('agrees with the service on a query: %s', async (query) => {
    const parameters = new URLSearchParams(query);
    const [name] = [...parameters.keys()] as [string];
    const { schema, style, explode } = document.paths['/cookies'].get.parameters.find((one: any) => one.name === name);
    // OpenAPI's defaults for a query: an array is a repeated parameter.
    expect([style, explode]).toEqual([undefined, undefined]);
    const text = parameters.get(name)!;
    const value = { array: parameters.getAll(name), integer: Number(text), string: text }[
      described.resolve(schema).type as string
    ];
    const { status } = await client.get(`/cookies?${query}`);
    expect(status === 200).toBe(described.isValid(schema, value));
  });

  function answersOf(method: string, path: string): Answer[] {
    return seen.filter(({ operation }) => operation[0] === method && operation[1] === path).map(({ answer }) => answer);
  }
});

function requestTarget([method, path]: Operation): string {
  return `${method.toUpperCase()} ${path.replace('{id}', '1')}`;
}

/** The routes of the API in the form of the document, parsed from Fastify's `printRoutes`. */
function routesOf({ app }: Service): string[] {
  const drawing = app.getHttpAdapter().getInstance().printRoutes({ commonPrefix: false });
  const segments: string[] = [];
  const routes: string[] = [];
  for (const [, indent, segment, methods = ''] of drawing.matchAll(/^([│ ]*)[├└]── (\S+)(?: \((.*)\))?$/gm)) {
    segments.splice(indent!.length / 4, Infinity, segment!);
    const path = segments.join('').replaceAll(/:(\w+)/g, '{$1}');
    for (const method of methods.split(', ')) routes.push(`${method.toLowerCase()} ${path}`);
  }
  return routes.filter((route) => !/^head|^\w+ \/(docs|openapi\.json)/.test(route));
}

/** Causes an unexpected error: the tables are missing. */
function dropTables(file: string): void {
  using database = openDatabase(file);
  database.exec('DROP TABLE cookies; DROP TABLE storage');
}

/** Damages the database: every page but the first is overwritten. */
function overwrite(file: string): void {
  const PAGE = 4096;
  using database = openDatabase(file);
  database.pragma('wal_checkpoint(TRUNCATE)');
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, Buffer.alloc(statSync(file).size - PAGE), 0, undefined, PAGE);
  closeSync(descriptor);
  // A commit makes the service read the file again.
  database.pragma('user_version = 1');
}
