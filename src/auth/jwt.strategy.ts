import type { IncomingMessage } from 'node:http';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { PassportStrategy } from '@nestjs/passport';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Strategy } from 'passport-jwt';
import { unauthenticated } from './auth-errors.js';
import type { Principal } from './principal.js';
import { TokenVerifier } from './token-verifier.js';

declare module 'fastify' {
  interface FastifyInstance {
    tokenVerifier: TokenVerifier;
  }
}

const COMPACT_JWS = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/;
const BEARER = /^Bearer +(?=\S)/i;

/** The token in `Authorization`, after `Bearer` in any case or without a scheme; `null` if there is none. */
export function tokenOf({ headers: { authorization = '' } }: Pick<IncomingMessage, 'headers'>): string | null {
  const scheme = BEARER.exec(authorization)?.[0];
  if (scheme !== undefined) return authorization.slice(scheme.length);
  return COMPACT_JWS.test(authorization) ? authorization : null;
}

/**
 * passport-jwt with jose as its verifier, because its own jsonwebtoken lacks EdDSA and ignores `crit`. A module can use
 * it with `@UseGuards(AuthGuard('jwt'))`.
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
    const { server } = request as FastifyRequest;
    const token = tokenOf(request as FastifyRequest);
    if (token === null) return this.error(unauthenticated());
    server.tokenVerifier.verify(token).then(
      (principal) => this.success(principal),
      (error: Error) => this.error(error),
    );
  }

  /** Required by `PassportStrategy`, but unused: `authenticate` does all the work. */
  validate(principal: Principal): Principal {
    return principal;
  }
}
