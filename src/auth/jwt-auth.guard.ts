import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply } from 'fastify';
import { replyOf } from '../http/messages/request.js';
import { forbidden, unauthenticated } from './auth-errors.js';
import { type Principal, tokensOfSockets } from './principal.js';
import { ACCESS, type Access } from './scopes.decorator.js';
import { tokenOf, TokenVerifier } from './token-verifier.js';

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

  canActivate(context: ExecutionContext): true | Promise<true> {
    const targets = [context.getHandler(), context.getClass()];
    const access = this.reflector.getAllAndOverride<Access | undefined>(ACCESS, targets) ?? [];
    if (access === 'public') return this.admitToPublic(context);
    const reply = replyOf(context);
    const token = reply === undefined ? tokenOfSocket(context) : tokenOf(reply.request);
    // A WebSocket has none if its adapter does not use `Handshakes`.
    if (token === undefined) throw unauthenticated();
    const principal = this.verifier.verify(token);
    // Nest waits for a promise, which costs more than this guard.
    if (!(principal instanceof Promise)) return admit(principal, access, reply);
    return principal.then((verified) => admit(verified, access, reply));
  }

  /** Admits a call of a public route. Only GET and HEAD check a token, because a login may send an expired one. */
  private async admitToPublic(context: ExecutionContext): Promise<true> {
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
const tokenOfSocket = (context: ExecutionContext): string | undefined =>
  tokensOfSockets.get(context.switchToWs().getClient<object>());

/** @throws {ApiError} 403 without one of the scopes, or for a handler that declares none */
function admit(principal: Principal, access: readonly string[], reply?: FastifyReply): true {
  if (reply !== undefined) reply.request.user = reply.request.principal = principal;
  if (access.length === 0 || !access.every((scope) => principal.scopes.has(scope))) throw forbidden(access);
  if (reply !== undefined) makePrivate(reply);
  return true;
}

/** Lets only the client's own cache store the response, and makes it revalidate before each use (RFC 9111). */
function makePrivate(reply: FastifyReply): void {
  reply.header('cache-control', 'private, no-cache');
  const vary = reply.getHeader('vary');
  if (String(vary).includes('Authorization')) return;
  reply.header('vary', vary === undefined ? 'Authorization' : `${String(vary)}, Authorization`);
}
