import { Controller, Get, Injectable, Module, Req, UseGuards } from '@nestjs/common';
import { AuthGuard, PassportStrategy } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import { ExtractJwt, Strategy } from 'passport-jwt';
import { Scopes } from '../../src/auth/scopes.decorator.js';
import { Client, SECRET, sharedService } from '../support/service.js';

/** A strategy as in the documentation of Nest: without a name, passport-jwt gives it the name `jwt`. */
@Injectable()
class MemberStrategy extends PassportStrategy(Strategy) {
  constructor() {
    super({ jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken(), secretOrKey: SECRET });
  }

  validate({ sub }: { sub: string }): { member: string } {
    return { member: sub };
  }
}

@Controller('members')
@Scopes('members')
class MembersController {
  @Get('me')
  @UseGuards(AuthGuard('jwt'))
  me(@Req() { user, principal }: FastifyRequest): object {
    return { user, subject: principal!.subject };
  }
}

@Module({ controllers: [MembersController], providers: [MemberStrategy] })
class MembersModule {}

describe('a strategy of a team with the name jwt', () => {
  const { service } = sharedService({}, [MembersModule]);

  it('is the strategy of AuthGuard("jwt")', async () => {
    const { body } = await Client.of(service, { scope: 'members' }).get('/members/me');
    expect(body).toEqual({ user: { member: 'alice' }, subject: 'alice' });
  });
});
