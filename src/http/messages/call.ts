import type { ArgumentsHost } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { routeOf } from './request.js';

/** The HTTP request and response behind a call of a handler. */
export interface HttpCall {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** The argument of a GraphQL resolver with the field that it resolves. */
interface ResolvedField {
  readonly fieldName: string;
  readonly parentType: { readonly name: string };
}

/** The HTTP request of a route or of a GraphQL resolver; `undefined` for a message of a WebSocket. */
export function httpCallOf(host: ArgumentsHost): HttpCall | undefined {
  const type = host.getType<string>();
  if (type === 'http') {
    const http = host.switchToHttp();
    return { request: http.getRequest<FastifyRequest>(), reply: http.getResponse<FastifyReply>() };
  }
  const reply = type === 'graphql' ? host.getArgByIndex<{ reply?: FastifyReply }>(2).reply : undefined;
  return reply && { request: reply.request, reply };
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Tells whether a call may write: a route by its method, or a GraphQL mutation. Messages of WebSockets are not known. */
export function mayWrite(host: ArgumentsHost): boolean {
  const call = httpCallOf(host);
  if (call === undefined) return false;
  if (host.getType<string>() === 'http') return !READS.has(call.request.method);
  return host.getArgByIndex<ResolvedField>(3).parentType.name === 'Mutation';
}

/** Names a call in the log: by its request and route, with the field in GraphQL, or by the message of a WebSocket. */
export function originOf(host: ArgumentsHost): string {
  const call = httpCallOf(host);
  if (call === undefined) return `message "${host.switchToWs().getPattern()}" of a WebSocket`;
  const origin = originOfRequest(call.request);
  if (host.getType<string>() !== 'graphql') return origin;
  const { fieldName, parentType } = host.getArgByIndex<ResolvedField>(3);
  return `${origin}, ${parentType.name}.${fieldName}`;
}

export function originOfRequest(request: FastifyRequest): string {
  return `request ${request.id}, ${request.method} ${routeOf(request)}`;
}
