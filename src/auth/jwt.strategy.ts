import type { Server } from 'node:http';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { type AbstractHttpAdapter, HttpAdapterHost } from '@nestjs/core';
import { PassportStrategy } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import { Strategy } from 'passport-jwt';
import type { Principal } from './principal.js';
import { tokenOf, TokenVerifier } from './token-verifier.js';

/** The verifiers by server: passport has one registry of strategies for all applications of the process. */
const verifiers = new WeakMap<Server, TokenVerifier>();

/** The strategy of `AuthGuard('jwt')` in any module, with jose, because jsonwebtoken lacks EdDSA and ignores `crit`. */
@Injectable()
export class JwtStrategy extends PassportStrategy(Strategy, 'jwt') implements OnModuleInit {
  constructor(
    private readonly verifier: TokenVerifier,
    private readonly adapterHost: HttpAdapterHost,
  ) {
    super({ jwtFromRequest: tokenOf as never, secretOrKeyProvider: () => undefined });
  }

  onModuleInit(): void {
    // An application context has no adapter.
    const adapter = this.adapterHost.httpAdapter as AbstractHttpAdapter | null;
    if (adapter) verifiers.set(adapter.getHttpServer() as Server, this.verifier);
  }

  override authenticate(request: unknown): void {
    // A request of Node, such as a handshake, has no server.
    const { server, headers } = request as Pick<FastifyRequest, 'headers'> & Partial<Pick<FastifyRequest, 'server'>>;
    const verifier = (server && verifiers.get(server.server)) ?? this.verifier;
    verifier.authenticate({ headers }).then(
      (principal) => this.success(principal),
      (error: Error) => this.error(error),
    );
  }

  /** Required by `PassportStrategy`, but unused: `authenticate` does all the work. */
  validate(principal: Principal): Principal {
    return principal;
  }
}
