import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Body, Controller, Module, Post, Req, type Type } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Scopes } from '../../src/auth/scopes.decorator.js';
import { AcceptsBody } from '../../src/http/body/accepts-body.decorator.js';
import { Upload } from '../../src/http/body/upload.js';
import { expectError } from '../support/expect-error.js';
import { exposedGc } from '../support/exposed-gc.js';
import { OpenApiDocument } from '../support/openapi-document.js';
import { connected, request } from '../support/raw-http.js';
import { type Answer, sharedService, startService, token } from '../support/service.js';
import { until } from '../support/until.js';
import { PhotoDto, PhotosController } from './fixtures/photos.controller.js';
import { taking } from './fixtures/taking.js';

const MiB = 1024 * 1024;

/** Emits `open` for the requests of `held` and `unread`. */
const gate = new EventEmitter();

@Controller('bodies')
@Scopes('photos:write')
class BodiesController {
  @Post('held')
  @AcceptsBody({ type: 'application/octet-stream', limit: 16 * MiB })
  async held(@Body() bytes: Buffer): Promise<number> {
    await once(gate, 'open');
    return bytes.length;
  }

  @Post('unread')
  @AcceptsBody({ type: 'application/octet-stream', limit: 64 * MiB })
  async unread(@Body() bytes: Readable): Promise<number> {
    await once(gate, 'open');
    let length = 0;
    for await (const chunk of bytes) length += (chunk as Buffer).length;
    return length;
  }

  @Post('ignored')
  @AcceptsBody({ type: 'multipart/form-data', limit: 64 * MiB })
  ignored(@Body() _upload: Upload): string[] {
    return [];
  }

  @Post('plain')
  plain(@Body() body: PhotoDto): PhotoDto {
    return body;
  }

  @Post('from-request')
  fromRequest(@Req() { body }: FastifyRequest, @Body() _dto: PhotoDto): unknown {
    return body;
  }
}

@Module({ controllers: [PhotosController, BodiesController] })
class BodiesModule {}

const { service } = sharedService({ DOCS: 'true' }, [BodiesModule]);
const authorization = `Bearer ${await token({ scope: 'photos:write' })}`;

/** Files of another program with such names do not count. */
const before = new Set(readdirSync(tmpdir()));

const photos = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('photo-') && !before.has(name));

/** Waits at most a minute: a busy machine is slow to send 64 MiB. */
const requestsHeld = (count: number): Promise<void> =>
  until(() => gate.listenerCount('open') === count, `${count} requests are held`, 60_000);

const photosKept = (count: number): Promise<void> => until(() => photos().length === count, `${count} photos`);

/** A request whose body the test writes. */
function open(path: string, headers: Record<string, string | number>, url = service.url): ClientRequest {
  const sent = httpRequest(url + path, { method: 'POST', headers: { authorization, ...headers } });
  sent.flushHeaders();
  // The service may close the connection before it has read the whole body.
  sent.on('error', () => {});
  return sent;
}

async function answerTo(sent: ClientRequest): Promise<Answer> {
  const [response] = (await once(sent, 'response', { signal: AbortSignal.timeout(20_000) })) as [IncomingMessage];
  const content = await text(response);
  const headers = new Headers(response.headers as Record<string, string>);
  return { status: response.statusCode!, headers, text: content, body: JSON.parse(content) };
}

function post(path: string, type: string, body: string | Buffer): Promise<Answer> {
  const sent = open(path, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  const answer = answerTo(sent);
  sent.end(body);
  return answer;
}

const FORM = 'multipart/form-data; boundary=x';

/** A multipart form: a Buffer becomes a file, a string a field. The last boundary may be missing. */
function form(parts: readonly (readonly [name: string, content: string | Buffer])[], isWhole = true): Buffer {
  const encoded = parts.flatMap(([name, content]) => {
    const filename =
      typeof content === 'string' || name === 'title' ? '' : '; filename="../a photo.png"\r\nContent-Type: image/png';
    const head = `--x\r\nContent-Disposition: form-data; name="${name}"${filename}\r\n\r\n`;
    return [Buffer.from(head), Buffer.from(content), Buffer.from('\r\n')];
  });
  return Buffer.concat([...encoded, Buffer.from(isWhole ? '--x--\r\n' : '')]);
}

it('request.body is the parsed JSON in a handler with @Body()', async () => {
  const { status, body } = await post('/bodies/from-request', 'application/json', '{"title":"Sea"}');
  expect([status, body]).toEqual([201, { title: 'Sea' }]);
});

const TITLE = ['title', 'Sea'] as const;
const FILE = ['file', Buffer.from('a small file')] as const;

describe('a route with @AcceptsBody', () => {
  it('accepts JSON up to its own limit, and returns 413 with the limit above it', async () => {
    const titles = (count: number) => JSON.stringify(Array(count).fill({ title: 'x'.repeat(40) }));
    const { status, body } = await post('/photos/titles', 'application/json', titles(19_000));
    expect({ status, body }).toEqual({ status: 201, body: { count: 19_000 } });
    const large = await post('/photos/titles', 'application/json', titles(30_000));
    expectError(large, 413, 'PAYLOAD_TOO_LARGE');
    expect(large.body.message).toBe('The body is larger than the 1 MiB that are accepted');
    const other = await post('/bodies/plain', 'application/json', titles(1000));
    expect(other.body.message).toBe('The body is larger than the 16 KiB that are accepted');
  });

  it('passes a file of a form on as a stream, with its name and validated fields', async () => {
    const bytes = randomBytes(9 * MiB + 17);
    const { status, body } = await post('/photos', FORM, form([TITLE, ['file', bytes]]));
    expect(status).toBe(201);
    expect(body).toEqual({ title: 'Sea', filename: 'a photo.png', path: expect.any(String) });
    expect(readFileSync(body.path as string).equals(bytes)).toBe(true);
    rmSync(body.path as string);
  });

  it('accepts a form of FormData as browsers send it', async () => {
    const data = new FormData();
    data.set('title', 'Größe');
    data.set('file', new Blob(['bytes']), 'Fähre.png');
    const response = await fetch(`${service.url}/photos`, { method: 'POST', body: data, headers: { authorization } });
    const body = (await response.json()) as { path: string };
    expect(body).toMatchObject({ title: 'Größe', filename: 'Fähre.png' });
    expect(readFileSync(body.path, 'utf8')).toBe('bytes');
    rmSync(body.path);
  });

  it('passes raw bytes on as a Buffer or a stream', async () => {
    expect((await post('/photos/thumbnails', 'image/png', Buffer.alloc(900_000))).body).toEqual({ bytes: 900_000 });
    const bytes = randomBytes(3 * MiB);
    const { body } = await post('/photos/originals', 'x/y', bytes);
    expect(readFileSync(body.path as string).equals(bytes)).toBe(true);
    rmSync(body.path as string);
  });

  const LONG = ['title', 'x'.repeat(101)] as const;
  it.each<[what: string, body: Buffer, status: number, errorCode: string, pointer: string | undefined]>([
    ['an invalid field', form([LONG, FILE]), 400, 'INVALID_REQUEST', '/title'],
    ['an unknown field', form([TITLE, ['other', 'x'], FILE]), 400, 'INVALID_REQUEST', '/other'],
    ['a name with a slash after the file', form([TITLE, FILE, ['a/b', 'x']]), 400, 'INVALID_REQUEST', '/a~1b'],
    ['a field that is sent twice', form([TITLE, TITLE, FILE]), 400, 'INVALID_REQUEST', '/title'],
    ['a file with another name', form([TITLE, ['photo', Buffer.from('x')]]), 400, 'INVALID_REQUEST', '/photo'],
    ['no file', form([TITLE]), 400, 'INVALID_REQUEST', '/file'],
    ['no last boundary', form([TITLE, FILE], false), 400, 'MALFORMED_FORM', undefined],
    ['fields of 9 000 umlauts', form([['title', 'ü'.repeat(9000)], FILE]), 413, 'PAYLOAD_TOO_LARGE', undefined],
    ['a field in latin1', form([['title', Buffer.from('ü', 'latin1')], FILE]), 400, 'INVALID_REQUEST', '/title'],
  ])('rejects a form with %s, and keeps no file', async (_what, body, status, errorCode, pointer) => {
    const answer = await post('/photos', FORM, body);
    expectError(answer, status, errorCode);
    expect(answer.body.details?.map((detail: { pointer: string }) => detail.pointer)).toEqual(pointer && [pointer]);
    expect(photos()).toEqual([]);
  });

  it('rejects a form of 20 000 empty fields within seconds', async () => {
    const fields = Array.from({ length: 20_000 }, () => ['', ''] as const);
    const began = performance.now();
    expectError(await post('/photos', FORM, form([...fields, FILE])), 400, 'INVALID_REQUEST');
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  it.each([
    ['/photos', 'application/json', 'multipart/form-data'],
    ['/photos/thumbnails', 'image/gif', 'image/png, image/jpeg'],
    ['/bodies/plain', 'image/png', 'application/json'],
  ])('POST %s with %s returns 415 with its own types in Accept', async (path, type, accepted) => {
    const answer = await post(path, type, '{}');
    expectError(answer, 415, 'UNSUPPORTED_MEDIA_TYPE');
    expect(answer.headers.get('accept')).toBe(accepted);
  });

  it('rejects a form without a boundary', async () => {
    expectError(await post('/photos', 'multipart/form-data', form([FILE])), 400, 'MALFORMED_FORM');
  });

  it.each(['/photos', '/photos/titles', '/photos/originals'])(
    'POST %s returns 413 for its Content-Length, otherwise 401 and 403 before the body arrives',
    async (path) => {
      const type = { '/photos': FORM, '/photos/titles': 'application/json' }[path] ?? 'x/y';
      const reader = `Bearer ${await token({ scope: 'photos:read' })}`;
      const send = (length: number, as: string) =>
        answerTo(open(path, { 'content-type': type, 'content-length': length, authorization: as }));
      expectError(await send(4096 * MiB, ''), 413, 'PAYLOAD_TOO_LARGE');
      const rejected = await send(1000, '');
      expectError(rejected, 401, 'UNAUTHENTICATED');
      expect(rejected.headers.get('connection')).toBe('close');
      expectError(await send(1000, reader), 403, 'INSUFFICIENT_SCOPE');
    },
  );

  it.each(['/photos', '/photos/thumbnails'])('POST %s of chunks above its limit returns 413', async (path) => {
    const sent = open(path, { 'content-type': path === '/photos' ? FORM : 'image/png' });
    const answer = answerTo(sent);
    sent.write(form([TITLE, FILE], false));
    sent.end(Buffer.alloc(path === '/photos' ? 65 * MiB : 2 * MiB));
    const response = await answer;
    expectError(response, 413, 'PAYLOAD_TOO_LARGE');
    expect(response.headers.get('connection')).toBe('close');
    expect(photos()).toEqual([]);
  });

  it('does not read an upload faster than its handler', async () => {
    const sent = open('/bodies/unread', { 'content-type': 'application/octet-stream', 'content-length': 48 * MiB });
    const answer = answerTo(sent);
    sent.end(Buffer.alloc(48 * MiB));
    await requestsHeld(1);
    await sleep(1000);
    // The rest waits in this process and in the socket buffers of the operating system.
    expect(sent.socket!.writableLength).toBeGreaterThan(24 * MiB);
    gate.emit('open');
    expect((await answer).body).toBe(48 * MiB);
  });

  it('keeps no more than 64 MiB of bodies in memory, and returns 503 beyond', async () => {
    const send = () => post('/bodies/held', 'application/octet-stream', Buffer.alloc(16 * MiB));
    const first = [send(), send(), send(), send()];
    await requestsHeld(4);
    expectError(await send(), 503, 'SERVICE_UNAVAILABLE');
    gate.emit('open');
    expect((await Promise.all(first)).map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    const next = send();
    await requestsHeld(1);
    gate.emit('open');
    expect((await next).status).toBe(201);
  });

  it.each([
    ['are read', 50, false],
    ['wait behind another request', 5, true],
  ])('keeps bodies of one-byte chunks that %s in little memory', async (_what, connections, isWaiting) => {
    const collectGarbage = exposedGc();
    const fields = ['Host: x', `Authorization: ${authorization}`];
    const held = [
      'POST /bodies/held HTTP/1.1',
      ...fields,
      'Content-Type: application/octet-stream',
      'Content-Length: 1',
    ];
    const lines = ['POST /bodies/plain HTTP/1.1', ...fields, 'Content-Type: application/json'];
    const chunked = request([...lines, 'Transfer-Encoding: chunked'], '1\r\n \r\n'.repeat(15_000));
    const whole = Buffer.concat([chunked, Buffer.from('0\r\n\r\n')]);
    const bytes = isWaiting ? Buffer.concat([request(held, 'x'), ...Array<Buffer>(14).fill(whole)]) : chunked;
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    const sockets = await Promise.all(Array.from({ length: connections }, () => connected(service.url)));
    for (const socket of sockets) await new Promise((resolve) => socket.write(bytes, resolve));
    await sleep(3000);
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(50 * MiB);
    gate.emit('open');
    for (const socket of sockets) socket.destroy();
  });

  it('keeps no file of a client that disconnects in the middle', async () => {
    const sent = open('/photos', { 'content-type': FORM, 'content-length': 1_000_000 });
    sent.write(form([TITLE, ['file', Buffer.alloc(100_000)]], false));
    await photosKept(1);
    sent.destroy();
    await photosKept(0);
  });

  it('responds for a handler that ignores its upload, and closes the connection', async () => {
    const sent = open('/bodies/ignored', { 'content-type': FORM, 'content-length': 32 * MiB });
    sent.write(form([FILE], false));
    const { status, headers } = await answerTo(sent);
    expect([status, headers.get('connection')]).toEqual([201, 'close']);
    await once(sent, 'close', { signal: AbortSignal.timeout(10_000) });
  });

  it('describes type and limit in the OpenAPI document', async () => {
    const document = await OpenApiDocument.of(service);
    const bodyOf = (path: string) => document.operation('POST', path).requestBody;
    expect(bodyOf('/photos').description).toBe('At most 64 MiB.');
    const binary = { type: 'string', format: 'binary' };
    const file = { type: 'object', properties: { file: binary }, required: ['file'] };
    expect(bodyOf('/photos').content).toEqual({
      'multipart/form-data': { schema: { allOf: [{ $ref: '#/components/schemas/PhotoDto' }, file] } },
    });
    expect(bodyOf('/photos/thumbnails').content).toEqual({
      'image/png': { schema: binary },
      'image/jpeg': { schema: binary },
    });
    expect(document.operation('POST', '/photos/titles')['x-body-limit']).toBe(MiB);
    expect(document.operation('POST', '/photos').responses['413'].description).toMatch('64 MiB');
  });
});

describe('an upload', () => {
  it('that does not end in time is 408', async () => {
    await using impatient = await startService({ REQUEST_TIMEOUT: '1000' }, [BodiesModule]);
    const sent = open('/photos', { 'content-type': FORM }, impatient.url);
    const dripping = setInterval(() => sent.write('x'), 100);
    sent.write(form([TITLE, FILE], false));
    expectError(await answerTo(sent).finally(() => clearInterval(dripping)), 408, 'REQUEST_TIMEOUT');
    await photosKept(0);
  });

  it('that is running when the service stops is finished', async () => {
    const stopping = await startService({}, [BodiesModule]);
    const sent = open('/photos', { 'content-type': FORM }, stopping.url);
    const answer = answerTo(sent);
    sent.write(form([TITLE, FILE], false));
    await photosKept(1);
    const stopped = stopping.stop();
    sent.end('--x--\r\n');
    const { status, body } = await answer;
    expect(status).toBe(201);
    rmSync(body.path as string);
    await stopped;
  });
});

const MULTIPART = 'multipart/form-data';

const IN_MEMORY = { type: 'x/y', limit: 17 * MiB };

it.each<[what: string, controller: Type, message: RegExp]>([
  ['a Buffer without @AcceptsBody', taking(Buffer), /Takes\.take: @AcceptsBody\(\{ type \}\) and a Buffer or Readable/],
  ['an Upload without it', taking(Upload), /Takes\.take: .* and an Upload need each other/],
  ['a form as a DTO', taking(PhotoDto, { accepts: { type: MULTIPART, limit: 1 } }), /and an Upload need each other/],
  ['17 MiB in memory', taking(Buffer, { accepts: IN_MEMORY }), /must be at most 16777216, or take a Readable/],
])('the start fails for %s', async (_what, controller, message) => {
  @Module({ controllers: [controller] })
  class OddModule {}
  await expect(startService({}, [OddModule])).rejects.toThrow(message);
});

it('GET /openapi.json describes the items of an array', async () => {
  const document = await OpenApiDocument.of(service);
  expect(document.operation('POST', '/photos/titles').requestBody.content['application/json'].schema).toEqual({
    type: 'array',
    items: { $ref: '#/components/schemas/PhotoDto' },
  });
});

it('docs/transports.md shows the controller of these tests', () => {
  const guide = readFileSync(join(import.meta.dirname, '../../docs/transports.md'), 'utf8');
  const source = readFileSync(join(import.meta.dirname, 'fixtures/photos.controller.ts'), 'utf8');
  expect(guide).toContain(source.replaceAll(`'../../../src/`, `'../`));
});
