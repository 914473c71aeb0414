import { type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { httpCallOf } from '../http/messages/request.js';
import { forbidden, unauthenticated } from './auth-errors.js';
import { type Principal, principalsOfSockets } from './principal.js';
import { accessOf } from './scopes.decorator.js';

/**
 * The guard of every route, GraphQL resolver and WebSocket message: 401 without a valid token, 403 without the scopes
 * of the handler. `@Public()` opens it to callers without a token; a GET with an invalid token is still 401.
 */
@Injectable()
export class JwtAuthGuard extends AuthGuard('jwt') {
  constructor(private readonly reflector: Reflector) {
    super();
  }

  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const access = accessOf(this.reflector, context.getHandler() as () => unknown, context.getClass()) ?? [];
    if (access === 'public') return this.admitToPublic(context);
    const { scopes } = await this.principalOf(context);
    if (access.length === 0 || !access.every((scope) => scopes.has(scope))) throw forbidden(access);
    const call = httpCallOf(context);
    if (call !== undefined) makePrivate(call.reply);
    return true;
  }

  override getRequest(context: ExecutionContext): FastifyRequest {
    return httpCallOf(context)!.request;
  }

  /** Admits a call of a public route. Only GET and HEAD check a token, because a login may send an expired one. */
  private async admitToPublic(context: ExecutionContext): Promise<boolean> {
    if (context.getType() !== 'http') return true;
    const { request } = httpCallOf(context)!;
    const { method, headers } = request;
    if ((method === 'GET' || method === 'HEAD') && headers.authorization) await super.canActivate(context);
    // Shared caches may store the response, so it must not depend on the user.
    request.user = undefined;
    return true;
  }

  private async principalOf(context: ExecutionContext): Promise<Principal> {
    const call = httpCallOf(context);
    if (call !== undefined) {
      await super.canActivate(context);
      return call.request.user!;
    }
    // A client without a principal comes from an adapter that does not use `Handshakes`.
    const principal = principalsOfSockets.get(context.switchToWs().getClient<object>());
    if (principal === undefined) throw unauthenticated();
    return principal;
  }
}

/** Lets only the client's own cache store the response, and makes it revalidate before each use (RFC 9111). */
function makePrivate(reply: FastifyReply): void {
  reply.header('cache-control', 'private, no-cache');
  const vary = reply.getHeader('vary');
  if (String(vary).includes('Authorization')) return;
  reply.header('vary', vary === undefined ? 'Authorization' : `${String(vary)}, Authorization`);
}
