import {
  BadRequestException,
  Body,
  type CanActivate,
  Controller,
  Delete,
  type ExecutionContext,
  Get,
  Injectable,
  type MiddlewareConsumer,
  Module,
  type NestMiddleware,
  type NestModule,
  Param,
  Post,
  Query,
  Res,
  Sse,
  UseGuards,
  Version,
  VersioningType,
} from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { AuthGuard } from '@nestjs/passport';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { IsString } from 'class-validator';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import passport from 'passport';
import { lastValueFrom, NEVER, of } from 'rxjs';
import { DataSource } from 'typeorm';
import { Public, Scopes } from '../../src/auth/scopes.decorator.js';
import { ErrorFilter } from '../../src/http/errors/error.filter.js';
import { ErrorLog } from '../../src/http/errors/error-log.js';
import { expectError, expectPlainHeaders } from '../support/expect-error.js';
import { untilMetric } from '../support/metrics.js';
import { Client, sharedService } from '../support/service.js';

/** More than the buffers of a socket. */
const SENT = 16 * 1024 * 1024;

@Injectable()
class Rejecting implements NestMiddleware {
  async use({ url = '' }: { url?: string }, _response: unknown, next: () => void): Promise<void> {
    await Promise.resolve();
    if (url.includes('reject')) throw new BadRequestException('No jars today');
    next();
  }
}

/** Reads the body before the handler, as `LocalAuthGuard` of docs/extending.md does. */
@Injectable()
class PasswordGuard implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest<{ Body: { password?: string } | null }>>();
    await request.receivedBody?.json();
    return request.body?.password === 'secret';
  }
}

class LoginDto {
  @IsString()
  password!: string;
}

/** Sends the browser to a provider, as strategies of OAuth do. */
class ProviderStrategy extends passport.Strategy {
  override authenticate(): void {
    this.redirect('https://provider.example/authorize');
  }
}
passport.use('provider', new ProviderStrategy());

/** As docs/extending.md says for strategies that redirect. */
@Injectable()
class ProviderGuard extends AuthGuard('provider') {
  getResponse(context: ExecutionContext) {
    return context.switchToHttp().getResponse<FastifyReply>().raw;
  }
}

/** Replaces a method by an anonymous function, as decorators of teams do. */
function wrapped(_prototype: object, _name: string, descriptor: PropertyDescriptor): void {
  const original = descriptor.value as (...values: unknown[]) => unknown;
  descriptor.value = function (...values: unknown[]) {
    return original.apply(this, values);
  };
}

@Controller()
@Scopes('cookies:read', 'cookies:write')
class OwnController {
  /** The resource's own routes have the parameter `id`. */
  @Post('cookies/:cookieId')
  eat(@Param('cookieId') eaten: string) {
    return { eaten };
  }

  @Delete('jars/:name')
  remove(): void {}

  @Get('jars/:id')
  jar(): void {}

  @Get('wrapped')
  @wrapped
  wrapped(@Query('size') size: string) {
    return { size };
  }

  @Sse('events')
  events() {
    return of({ data: 'opened' });
  }

  @Public()
  @Sse('quiet')
  quiet() {
    return NEVER;
  }

  @Get('hijacked')
  hijacked(@Res() reply: FastifyReply): void {
    reply.hijack();
    reply.raw.end('opened');
  }

  @Get('gone')
  gone(@Res() reply: FastifyReply, @Query('cached') cached?: string): void {
    if (cached !== undefined) reply.header('cache-control', cached);
    reply.code(410).send({ gone: true });
  }

  @Get('sent')
  async sent(@Res() reply: FastifyReply) {
    await reply.send(Buffer.alloc(SENT));
    throw new Error('after the response');
  }
}

@Controller()
@Scopes('cookies:read')
class PatternsController {
  @Get('times/:at(^\\d{2}:\\d{2}$)')
  time(): void {}

  @Get('lids/:id?')
  lids(): void {}

  @Get('pages/*')
  page(@Param('*') path: string) {
    return { path };
  }

  @Post('lids')
  addLid(): void {}
}

@Controller('login')
class LoginController {
  @Post()
  @Public()
  @UseGuards(PasswordGuard)
  login(@Body() body: LoginDto) {
    return body;
  }

  @Get('provider')
  @Public()
  @UseGuards(ProviderGuard)
  provider(): void {}
}

@Controller({ path: 'news', version: '2' })
class NewsController {
  @Get()
  @Public()
  news() {
    return { isNew: true };
  }

  @Get()
  @Version('1')
  @Public()
  old(): void {}

  @Post()
  @Public()
  login() {
    return { token: 'secret' };
  }
}

@Module({ controllers: [OwnController, LoginController, PatternsController, NewsController] })
class OwnModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(Rejecting).forRoutes(OwnController);
  }
}

async function configure(app: NestFastifyApplication): Promise<void> {
  app.enableVersioning({ type: VersioningType.HEADER, header: 'X-Version' });
  await app.register((fastify: FastifyInstance, _options: object, done: () => void) => {
    const schema = { body: { type: 'object', properties: { size: { type: 'integer' } } } };
    fastify.post('/fastify', { schema }, ({ body }, reply) => reply.send({ body }));
    done();
  });
  const fastify: FastifyInstance = app.getHttpAdapter().getInstance();
  // As docs/transports.md says for Apollo.
  fastify.addHook('preValidation', async (request) => {
    if (request.routeOptions.url === '/outside/:id') await request.receivedBody?.json();
  });
  fastify.post('/outside/:id', ({ body, params }, reply) => reply.send({ body, params }));
}

describe('routes of a module beside the resource kit', () => {
  const { service, client } = sharedService({ LOG_LEVEL: 'silent' }, [OwnModule], [], undefined, configure);

  it('may give a parameter of a path another name than other methods do', async () => {
    expect(await client.request('POST', '/cookies/7')).toMatchObject({ status: 201, body: { eaten: '7' } });
    const { status, headers } = await client.request('PUT', '/jars/7');
    expect([status, headers.get('allow')]).toEqual([405, 'DELETE, GET, HEAD, OPTIONS']);
    expect((await client.request('OPTIONS', '/cookies/7')).headers.get('allow')).toContain('PATCH, POST, PUT');
  });

  it('may have optional parameters and regular expressions', async () => {
    const allowed = async (path: string) => (await client.request('PUT', path)).headers.get('allow');
    expect((await client.get('/times/12:30')).status).toBe(200);
    expect(await allowed('/times/12:30')).toBe('GET, HEAD, OPTIONS');
    expect((await client.get('/times/noon')).status).toBe(404);
    expect(await allowed('/lids')).toBe('GET, HEAD, OPTIONS, POST');
    expect(await allowed('/lids/1')).toBe('GET, HEAD, OPTIONS');
  });

  it('may have a wildcard, which matches its own folder, too, as a plugin that serves files expects', async () => {
    for (const path of ['', 'a/b', 'a/']) expect((await client.get(`/pages/${path}`)).body).toEqual({ path });
    expect((await client.request('PUT', '/pages/')).headers.get('allow')).toBe('GET, HEAD, OPTIONS');
    expect((await client.get('/pages')).status).toBe(404);
  });

  it.each(['/events', '/hijacked'])('GET %s, sent without onSend hooks, has the common header fields', async (path) => {
    const { status, headers, text } = await client.get(path);
    expect([status, text]).toEqual([200, expect.stringContaining('opened')]);
    expectPlainHeaders(headers);
  });

  it('may be an event stream that sends nothing, which ends when its client leaves', async () => {
    const leaving = new AbortController();
    const { status } = await fetch(`${service.url}/quiet`, { signal: leaving.signal });
    expect(status).toBe(200);
    leaving.abort();
    await untilMetric(service, 'http_requests_in_flight', 0);
  });

  const filter = (): ErrorFilter => {
    const { app } = service;
    return new ErrorFilter(app.get(ErrorLog, { strict: false }), app.get(DataSource, { strict: false }));
  };

  /** The exceptions of `@nestjs/websockets` and `@nestjs/microservices`. */
  class WsException extends Error {
    getError(): string {
      return this.message;
    }
  }

  it.each([
    ['an exception of HTTP', new BadRequestException('No jars today')],
    ['an exception of messages', new WsException('No jars today')],
  ])('the handler of a message of a microservice rejects with the body of %s', async (_what, error) => {
    const host = new ExecutionContextHost([{}, { getPattern: () => 'add' }]);
    host.setType('rpc');
    await expect(lastValueFrom(filter().catch(error, host)!)).rejects.toMatchObject({
      statusCode: 400,
      message: 'No jars today',
    });
  });

  it('the error of a GraphQL resolver without a reply in its context names the option of GraphQL', () => {
    const host = new ExecutionContextHost([undefined, {}, { req: {} }, { fieldName: 'jars' }]);
    host.setType('graphql');
    expect(() => filter().catch(new Error('secret'), host)).toThrow('context: (_request, reply) => ({ reply })');
  });

  it('the error of a GraphQL resolver has its code where clients of Apollo read it', () => {
    const reply = { request: { id: '1', method: 'POST', routeOptions: {} } };
    const host = new ExecutionContextHost([{}, {}, { reply }, { fieldName: 'jars', parentType: { name: 'Query' } }]);
    host.setType('graphql');
    const extensions = { statusCode: 400, errorCode: 'BAD_REQUEST', code: 'BAD_REQUEST' };
    const jars = () => filter().catch(new BadRequestException('No jars today'), host);
    expect(jars).toThrow(
      expect.objectContaining({ message: 'No jars today', extensions: expect.objectContaining(extensions) }),
    );
  });

  it('return the error that middleware throws', async () => {
    const answer = await client.get('/jars/7?reject');
    expectError(answer, 400, 'BAD_REQUEST');
    expect(answer.body.message).toBe('No jars today');
  });

  it('may have a decorator that replaces the method', async () => {
    expect((await client.get('/wrapped?size=3')).body).toEqual({ size: '3' });
    expectError(await client.get('/wrapped?sise=3'), 400, 'INVALID_REQUEST');
  });

  it('may fail after they have sent the response, which stays whole', async () => {
    expect((await client.get('/sent')).text).toHaveLength(SENT);
  });

  it('may send errors themselves, which no cache stores unless the handler says so', async () => {
    const cacheControl = async (path: string) => (await client.get(path)).headers.get('cache-control');
    expect(await cacheControl('/gone')).toBe('no-store');
    expect(await cacheControl('/gone?cached=max-age%3D60')).toBe('max-age=60');
  });

  it('may be routes of Fastify in a plugin, with parsed bodies and a schema', async () => {
    const post = (size: unknown) => client.request('POST', '/fastify', { body: { size } });
    expect(await post(3)).toMatchObject({ status: 200, body: { body: { size: 3 } } });
    const rejected = await post('x');
    expectError(rejected, 400, 'INVALID_REQUEST');
    expect(rejected.body.message).toBe('body/size must be integer');
  });

  it('may have a guard that reads the body, which the handler also gets', async () => {
    const login = (body?: unknown) => client.request('POST', '/login', { body });
    expect(await login({ password: 'secret' })).toMatchObject({ status: 201, body: { password: 'secret' } });
    expect((await login({ password: 'wrong' })).status).toBe(403);
    expect((await login()).status).toBe(403);
    expectError(await login('{'), 400, 'MALFORMED_JSON');
  });

  it('may have a guard of passport that redirects to a provider', async () => {
    const response = await fetch(`${service.url}/login/provider`, { redirect: 'manual' });
    expect([response.status, response.headers.get('location')]).toEqual([302, 'https://provider.example/authorize']);
    expectPlainHeaders(response.headers);
    await untilMetric(service, 'http_requests_in_flight', 0);
  });

  it('may be routes of Fastify outside of a plugin, whose bodies a hook parses', async () => {
    const response = await client.request('POST', '/outside/7', { body: { size: 3 } });
    expect(response).toMatchObject({ status: 200, body: { body: { size: 3 }, params: { id: '7' } } });
    const { status } = await Client.bearing(service).request('POST', '/cookies/7', { body: '{' });
    expect(status).toBe(401);
  });

  it('are 404 and not 405 for a version that does not exist', async () => {
    const versioned = (version: string) => client.get('/news', { 'x-version': version });
    for (const version of ['1', '2']) expect((await versioned(version)).status).toBe(200);
    expectError(await versioned('9'), 404, 'NOT_FOUND');
    expectError(await client.request('PUT', '/news', { headers: { 'x-version': '2' } }), 405, 'METHOD_NOT_ALLOWED');
  });

  it('may be stored by shared caches for a public GET, and not for a public POST', async () => {
    const headers = { 'x-version': '2' };
    expect((await client.get('/news', headers)).headers.get('cache-control')).toBe('public, no-cache');
    expect((await client.request('POST', '/news', { headers })).headers.get('cache-control')).toBeNull();
  });
});
