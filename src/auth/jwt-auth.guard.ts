import { type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { forbidden } from './auth-errors.js';
import { accessOf } from './scopes.decorator.js';

/** The guard of every route: 401 without a valid token, 403 without the scopes of the route. `@Public()` turns it off. */
@Injectable()
export class JwtAuthGuard extends AuthGuard('jwt') {
  constructor(private readonly reflector: Reflector) {
    super();
  }

  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const access = accessOf(this.reflector, context.getHandler() as () => unknown, context.getClass()) ?? [];
    if (access === 'public') return true;
    await super.canActivate(context);
    const http = context.switchToHttp();
    const { user } = http.getRequest<FastifyRequest>();
    if (access.length === 0 || !access.every((scope) => user!.scopes.has(scope))) throw forbidden(access);
    makePrivate(http.getResponse<FastifyReply>());
    return true;
  }
}

/** Lets only the client's own cache store the response, and makes it revalidate before each use (RFC 9111). */
function makePrivate(reply: FastifyReply): void {
  reply.header('cache-control', 'private, no-cache');
  const vary = reply.getHeader('vary');
  reply.header('vary', vary === undefined ? 'Authorization' : `${String(vary)}, Authorization`);
}
