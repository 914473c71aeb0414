import { type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { HandlerCache } from '../http/routing/handler-cache.js';
import { forbidden, unauthenticated } from './auth-errors.js';
import { JwtStrategy, tokenOf } from './jwt.strategy.js';
import type { Principal } from './principal.js';
import { PUBLIC, SCOPES } from './scopes.decorator.js';
import { TokenVerifier } from './token-verifier.js';

/** Guards every route: 401 without a valid token, 403 without the route's scopes. Only `@Public()` opens a route. */
@Injectable()
export class JwtAuthGuard extends AuthGuard() {
  private readonly access = new HandlerCache<'public' | readonly string[]>((context) => {
    const targets = [context.getHandler(), context.getClass()];
    if (this.reflector.getAllAndOverride<boolean | undefined>(PUBLIC, targets)) return 'public';
    return this.reflector.getAllAndOverride<string[] | undefined>(SCOPES, targets) ?? [];
  });

  constructor(
    private readonly reflector: Reflector,
    private readonly verifier: TokenVerifier,
    strategy: JwtStrategy,
  ) {
    super({ defaultStrategy: strategy.registeredName });
  }

  override canActivate(context: ExecutionContext): true | Promise<true> {
    const access = this.access.get(context);
    if (access === 'public') return true;
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const token = tokenOf(request);
    const known = token === null ? undefined : this.verifier.known(token);
    if (known !== undefined) return admit(known, access, request, reply);
    return (super.canActivate(context) as Promise<boolean>).then(() => admit(request.user!, access, request, reply));
  }

  override handleRequest<T = Principal>(error: Error | null, user: T | false, info: Error | undefined): T {
    if (error) throw error;
    if (user === false || user === undefined) throw unauthenticated(info?.message);
    return user;
  }
}

function admit(principal: Principal, scopes: readonly string[], request: FastifyRequest, reply: FastifyReply): true {
  request.user = principal;
  if (scopes.length === 0) throw forbidden();
  if (!scopes.every((scope) => principal.scopes.has(scope))) throw forbidden(scopes);
  // What a token opened is for its bearer's eyes, and stays true no longer than until the next write (RFC 9111).
  reply.header('cache-control', 'private, no-cache');
  const vary = reply.getHeader('vary');
  reply.header('vary', vary === undefined ? 'Authorization' : `${String(vary)}, Authorization`);
  return true;
}
