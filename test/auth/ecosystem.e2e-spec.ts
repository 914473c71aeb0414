import {
  Body,
  Controller,
  type ExecutionContext,
  Get,
  Header,
  Injectable,
  Module,
  Param,
  Post,
  Query,
  Req,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JwtService } from '@nestjs/jwt';
import { AuthGuard } from '@nestjs/passport';
import { IsString } from 'class-validator';
import type { FastifyRequest } from 'fastify';
import { AppModule } from '../../src/app.module.js';
import { Public, Scopes } from '../../src/auth/scopes.decorator.js';
import { tokenOf } from '../../src/auth/token-verifier.js';
import { loadConfig } from '../../src/config/config.js';
import { CookiesService } from '../../src/cookies/cookies.service.js';
import { SETTINGS } from '../../src/features.js';
import { ErrorFilter } from '../../src/http/errors/error.filter.js';
import { AuditModule } from '../../src/resource/audit/audit.controller.js';
import { ParseIdPipe } from '../../src/resource/exchange.js';
import { expectError } from '../support/expect-error.js';
import { Client, COOKIE, environmentIn, sharedService, startService, temporaryFolder } from '../support/service.js';
import { claims, expectInvalidToken, hmac, HS256, jws } from './jws.js';

/** Reads the token of a public route, if there is one. */
@Injectable()
class OptionalUserGuard extends AuthGuard('jwt') {
  override handleRequest<T>(error: Error | undefined, user: T, _info: unknown, context: ExecutionContext): T {
    if (error && tokenOf(context.switchToHttp().getRequest<FastifyRequest>())) throw error;
    return user;
  }
}

class NoteDto {
  @IsString()
  text!: string;
}

/** A controller as a team writes it, with every way to open and to close a route. */
@Controller('notes')
class NotesController {
  constructor(private readonly jwt: JwtService) {}

  @Get('forgotten')
  forgotten(): void {}

  @Get('open')
  @Public()
  open(): void {}

  @Get('named')
  @Scopes('notes:read')
  named(@Query('name') _name: string): void {}

  @Get('mine')
  @Public()
  @UseGuards(AuthGuard('jwt'))
  mine(@Req() { user }: FastifyRequest): { subject: string } {
    return { subject: user!.subject };
  }

  @Get('greeting')
  @Public()
  @UseGuards(OptionalUserGuard)
  @Header('Cache-Control', 'private, no-cache')
  greeting(@Req() { user }: FastifyRequest): { subject: string | null } {
    return { subject: user?.subject ?? null };
  }

  @Post('greeting')
  @Public()
  @UseGuards(OptionalUserGuard)
  greet(@Req() request: FastifyRequest): { subject: string | null } {
    return this.greeting(request);
  }

  @Post('sign-in')
  @Public()
  async signIn(@Body() { text }: NoteDto): Promise<{ token: string }> {
    const token = await this.jwt.signAsync({ scope: 'notes:read' }, { subject: text, expiresIn: '1m' });
    return { token };
  }

  @Get('both')
  @Scopes('notes:read', 'notes:audit')
  both(): void {}

  @Get()
  @Scopes('notes:read')
  list(): void {}

  @Get(':note')
  @Scopes('notes:read')
  get(@Param('note', ParseIdPipe) id: number): { id: number } {
    return { id };
  }
}

/** It names the filter, as gateways must. */
@Controller('board')
@UseFilters(ErrorFilter)
@Public()
class BoardController {
  @Get()
  read(): void {}

  @Get('minutes')
  @Scopes('notes:read')
  minutes(): void {}
}

@Controller('audits')
@Scopes('notes:audit')
class AuditsController {
  @Get()
  list(): void {}

  @Get('summary')
  @Public()
  summary(): void {}

  @Get('own')
  @Scopes('notes:read')
  own(): void {}
}

/** Sets the property of the prototype to null, as `@WebSocketServer()` and `@Client()` do. */
const setLater: PropertyDecorator = (prototype, name) => {
  Reflect.set(prototype, name, null);
};

@Controller('chats')
@Scopes('notes:read')
class ChatsController {
  @setLater
  readonly server: unknown;

  @Get()
  list(): void {}

  @Get('open')
  @Public()
  open(): void {}
}

@Module({ controllers: [NotesController, BoardController, AuditsController, ChatsController] })
class NotesModule {}

describe('a module of a team', () => {
  const { service } = sharedService({}, [NotesModule]);
  const bearer = (scope: string): Client => Client.bearing(service, jws(HS256, claims({ scope })));
  const clients = {
    stranger: Client.bearing(service),
    member: bearer('notes:read notes:write'),
    'reader of cookies': bearer('cookies:read'),
  };

  it.each<[what: string, path: string, who: keyof typeof clients, result: string]>([
    ['a route without decorator', 'notes/forgotten', 'stranger', '401 UNAUTHENTICATED'],
    ['a route without decorator', 'notes/forgotten', 'member', '403 FORBIDDEN'],
    ['a route with @Public()', 'notes/open', 'stranger', '200'],
    ['a route with @Scopes() of a class with @Public()', 'board/minutes', 'stranger', '401 UNAUTHENTICATED'],
    ['a route with @Scopes() of a class with @Public()', 'board/minutes', 'member', '200'],
    ['a route with @Scopes()', 'notes', 'member', '200'],
    ['a route with @Scopes()', 'notes', 'reader of cookies', '403 INSUFFICIENT_SCOPE'],
    ['a route with two scopes', 'notes/both', 'member', '403 INSUFFICIENT_SCOPE'],
    ['a route of a class with @Scopes()', 'audits', 'member', '403 INSUFFICIENT_SCOPE'],
    ['a route with @Scopes() of a class with others', 'audits/own', 'member', '200'],
    ['a route with @Public() of a class with @Scopes()', 'audits/summary', 'stranger', '200'],
    ['a route of a class with a property that is null', 'chats', 'reader of cookies', '403 INSUFFICIENT_SCOPE'],
    ['a public route of a class with a property that is null', 'chats/open', 'stranger', '200'],
    ['a public route with AuthGuard("jwt")', 'notes/mine', 'stranger', '401 UNAUTHENTICATED'],
  ])('%s: GET /%s by %s returns %s', async (_what, path, who, result) => {
    const [status, errorCode] = result.split(' ');
    const answer = await clients[who].get(`/${path}`);
    if (errorCode === undefined) expect(answer.status).toBe(Number(status));
    else expectError(answer, Number(status), errorCode);
  });

  it('the document names the scopes of a class with a property that is null', async () => {
    const { paths } = (await clients.stranger.get('/openapi.json')).body;
    expect(paths['/chats'].get.security).toEqual(paths['/notes'].get.security);
    expect(paths['/chats/open'].get.security).toEqual(paths['/notes/open'].get.security);
  });

  it('the challenge of a 403 names all scopes of the route', async () => {
    const { headers } = await clients.member.get('/notes/both');
    expect(headers.get('www-authenticate')).toBe(
      'Bearer realm="cookies", error="insufficient_scope", scope="notes:read notes:audit"',
    );
  });

  it('GET of a route with @Public() rejects an invalid token; POST ignores it, for a login', async () => {
    const expired = Client.bearing(service, jws(HS256, claims({ exp: 1 })));
    expectInvalidToken(await expired.get('/notes/open'));
    expectInvalidToken(await expired.get('/notes/mine'));
    expect((await expired.request('POST', '/notes/sign-in', { body: { text: 'bob' } })).status).toBe(201);
  });

  it('a public route with an optional user names the subject of a valid token, and rejects an invalid one', async () => {
    const forged = Client.bearing(service, jws(HS256, claims(), hmac('sha256', 'another secret of 32 bytes or more')));
    const expired = Client.bearing(service, jws(HS256, claims({ exp: 1 })));
    for (const method of ['GET', 'POST']) {
      const greeting = async (by: Client) => (await by.request(method, '/notes/greeting')).body;
      expect(await greeting(clients.stranger)).toEqual({ subject: null });
      expect(await greeting(clients.member)).toEqual({ subject: 'alice' });
      for (const by of [forged, expired]) expectInvalidToken(await by.request(method, '/notes/greeting'));
    }
    expect((await clients.member.get('/notes/greeting')).headers.get('cache-control')).toBe('private, no-cache');
  });

  it('JwtService signs tokens for a login of the team', async () => {
    const { body } = await clients.stranger.request('POST', '/notes/sign-in', { body: { text: 'bob' } });
    const bob = Client.bearing(service, body.token);
    expect((await bob.get('/notes/mine')).body).toEqual({ subject: 'bob' });
    expect((await bob.get('/notes')).status).toBe(200);
    expectError(await bob.get('/cookies'), 403, 'INSUFFICIENT_SCOPE');
  });

  it.each(['/notes?x=1', '/notes/open?x=1', '/board?x=1', '/notes/named?name=x&nmae=x'])(
    'GET %s returns 400 because of its query',
    async (path) => {
      expectError(await clients.member.get(path), 400, 'INVALID_REQUEST');
    },
  );

  it('the 400 for an invalid id names the parameter of the route', async () => {
    expect((await clients.member.get('/notes/7')).body).toEqual({ id: 7 });
    const answer = await clients.member.get('/notes/0');
    expectError(answer, 400, 'INVALID_REQUEST');
    expect(answer.body.details).toEqual([{ parameter: 'note', message: expect.any(String) }]);
  });

  it('AuthGuard("jwt") verifies with the keys of its application beside another application', async () => {
    await using other = await startService({ JWT_SECRET: 'the secret of another application' }, [NotesModule]);
    expect((await clients.member.get('/notes/mine')).status).toBe(200);
    expectInvalidToken(await Client.bearing(other, jws(HS256, claims())).get('/notes/mine'));
  });
});

it('an application context starts beside a service, opens no management port, stores a record and closes', async () => {
  await using service = await startService();
  const environment = { MANAGEMENT_PORT: new URL(service.managementUrl).port };
  const config = loadConfig(environmentIn(temporaryFolder(), environment), SETTINGS);
  const jobs = { module: class JobsModule {}, imports: [AppModule.forRoot(config), AuditModule] };
  const context = await NestFactory.createApplicationContext(jobs, { logger: false, abortOnError: false });
  const { records } = context.get(CookiesService, { strict: false });
  expect(await records.create(COOKIE)).toMatchObject({ record: { id: 1, ...COOKIE } });
  await context.close();
});
