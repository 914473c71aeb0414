import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply } from 'fastify';
import { replyOf } from '../http/messages/request.js';
import { forbidden, unauthenticated } from './auth-errors.js';
import { tokensOfSockets } from './principal.js';
import { ACCESS, type Access } from './scopes.decorator.js';
import { TokenVerifier } from './token-verifier.js';

/**
 * The guard of every route, GraphQL resolver and WebSocket message: 401 without a valid token, 403 without the scopes
 * of the handler. `@Public()` opens it to callers without a token; a GET with an invalid token is still 401.
 */
@Injectable()
export class JwtAuthGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly verifier: TokenVerifier,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const targets = [context.getHandler(), context.getClass()];
    const access = this.reflector.getAllAndOverride<Access | undefined>(ACCESS, targets) ?? [];
    if (access === 'public') return this.admitToPublic(context);
    const reply = replyOf(context);
    const principal = await (reply === undefined
      ? this.verifier.verify(tokenOfSocket(context))
      : this.verifier.authenticate(reply.request));
    if (reply !== undefined) reply.request.user = principal;
    if (access.length === 0 || !access.every((scope) => principal.scopes.has(scope))) throw forbidden(access);
    if (reply !== undefined) makePrivate(reply);
    return true;
  }

  /** Admits a call of a public route. Only GET and HEAD check a token, because a login may send an expired one. */
  private async admitToPublic(context: ExecutionContext): Promise<boolean> {
    if (context.getType() !== 'http') return true;
    const reply = replyOf(context)!;
    const { request } = reply;
    const { method, headers } = request;
    // Shared caches may store the response, so it must not depend on the user.
    request.user = undefined;
    if (method !== 'GET' && method !== 'HEAD') return true;
    if (headers.authorization) await this.verifier.authenticate(request);
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'public, no-cache');
    return true;
  }
}

/** The token of a WebSocket, which is verified for each message, because it may have been revoked. */
function tokenOfSocket(context: ExecutionContext): string {
  const token = tokensOfSockets.get(context.switchToWs().getClient<object>());
  // A client without a token comes from an adapter that does not use `Handshakes`.
  if (token === undefined) throw unauthenticated();
  return token;
}

/** Lets only the client's own cache store the response, and makes it revalidate before each use (RFC 9111). */
function makePrivate(reply: FastifyReply): void {
  reply.header('cache-control', 'private, no-cache');
  const vary = reply.getHeader('vary');
  if (String(vary).includes('Authorization')) return;
  reply.header('vary', vary === undefined ? 'Authorization' : `${String(vary)}, Authorization`);
}
