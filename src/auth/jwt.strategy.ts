import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { PassportStrategy } from '@nestjs/passport';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Strategy } from 'passport-jwt';
import type { Principal } from './principal.js';
import { tokenOf } from './token-form.js';
import { TokenVerifier } from './token-verifier.js';

declare module 'fastify' {
  interface FastifyInstance {
    tokenVerifier: TokenVerifier;
  }
}

/**
 * The strategy of `@UseGuards(AuthGuard('jwt'))` in any module: passport-jwt with jose as its verifier, because its own
 * jsonwebtoken lacks EdDSA and ignores `crit`.
 */
@Injectable()
export class JwtStrategy extends PassportStrategy(Strategy, 'jwt') implements OnModuleInit {
  constructor(
    private readonly verifier: TokenVerifier,
    private readonly adapterHost: HttpAdapterHost,
  ) {
    super({ jwtFromRequest: tokenOf as never, secretOrKeyProvider: () => undefined });
  }

  /** Decorates the server with its verifier, because passport has one registry for all applications of the process. */
  onModuleInit(): void {
    // An application context has no adapter.
    const adapter = this.adapterHost.httpAdapter as HttpAdapterHost['httpAdapter'] | undefined;
    adapter?.getInstance<FastifyInstance>().decorate('tokenVerifier', this.verifier);
  }

  override authenticate(request: unknown): void {
    const { server, headers } = request as FastifyRequest;
    server.tokenVerifier.authenticate({ headers }).then(
      (principal) => this.success(principal),
      (error: Error) => this.error(error),
    );
  }

  /** Required by `PassportStrategy`, but unused: `authenticate` does all the work. */
  validate(principal: Principal): Principal {
    return principal;
  }
}
