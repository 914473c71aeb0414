import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP, isIPv6 } from 'node:net';
import type { ArgumentsHost } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';

const VALID_ID = /^[A-Za-z0-9._-]{1,128}$/;
const ENTITY_TAG = /(?<![^\s,])(W\/)?("[\x21\x23-\x7e\x80-\xff]*")(?![^\s,])/g;
/** An address with a port, as some proxies forward it: `192.0.2.1:5000`, `[2001:db8::1]:5000`. */
const WITH_PORT = /^(?:([0-9.]+)|\[(.+)\])(?::[0-9]+)?$/;

/** The beginning of an IPv4 address that is written as one of IPv6, as Node does with `HOST=::`. */
const MAPPED = /^::ffff:(?=[0-9.]+$)/i;

/** The client's `X-Request-Id` if it is valid, otherwise a new id. */
export function requestId(request?: Pick<IncomingMessage, 'headers'>): string {
  const given = request?.headers['x-request-id'];
  return typeof given === 'string' && VALID_ID.test(given) ? given : randomUUID();
}

/** The pattern of the request's route, such as `/orders/:id`; `unknown` if no route matches. */
export function routeOf(request: FastifyRequest): string {
  return request.is404 ? 'unknown' : (request.routeOptions.url ?? 'unknown');
}

/** Path and query of a routed request, whose target may also have a scheme and a host (RFC 9112 section 3.2.2). */
export const targetOf = ({ url }: Pick<FastifyRequest, 'url'>): URL => new URL(url, 'http://localhost');

/** Tells whether the list in `If-Match` or `If-None-Match` has the tag. Strong comparison never matches weak tags. */
export function hasEntityTag(list: string, etag: string, comparison: 'strong' | 'weak'): boolean {
  if (list === etag || list.trim() === '*') return true;
  const tags = [...list.matchAll(ENTITY_TAG)];
  return tags.some(([, weak, tag]) => tag === etag && (weak === undefined || comparison === 'weak'));
}

/** The client's address without a port. `forwarded` is `ip` of the request: any text of a trusted proxy. */
export function clientAddress(forwarded: string, connected: string | undefined): string | undefined {
  const [, ipv4, ipv6] = WITH_PORT.exec(forwarded) ?? [];
  const address = [forwarded, ipv4 ?? ipv6 ?? ''].find(isIP) ?? connected;
  return address?.replace(MAPPED, '');
}

export function clientKey({ ip, socket }: Pick<FastifyRequest, 'ip' | 'socket'>): string {
  return addressKey(clientAddress(ip, socket.remoteAddress));
}

/** The key under which a client is counted: its IPv4 address, or the /64 network of its IPv6 address. */
export function addressKey(address = ''): string {
  if (!isIPv6(address)) return address;
  // Node accepts more zones (`%eth0.1`) than the parser. A mapped address becomes one of IPv4.
  const parsed = ipaddr.process(address.replace(/%.*/, ''));
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(':') : parsed.toString();
}

const NO_REPLY_IN_CONTEXT =
  'The context of GraphQL has no property "reply". Give GraphQLModule.forRoot the option ' +
  'context: (_request, reply) => ({ reply })';

/** The argument of a GraphQL resolver with the field that it resolves. */
interface ResolvedField {
  readonly fieldName: string;
  readonly parentType: { readonly name: string };
}

/** The reply to the request of a route or of a GraphQL resolver; `undefined` for a message. */
export function replyOf(host: ArgumentsHost): FastifyReply | undefined {
  const type = host.getType<string>();
  if (type === 'graphql') {
    const { reply } = host.getArgByIndex<{ reply?: FastifyReply }>(2);
    if (reply === undefined) throw new Error(NO_REPLY_IN_CONTEXT);
    return reply;
  }
  if (type !== 'http') return undefined;
  const response = host.switchToHttp().getResponse<FastifyReply & { readonly reply?: FastifyReply }>();
  // Middleware gets the response of Node, which has the reply of Fastify (`TrackedResponse`).
  return response.reply ?? response;
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Tells whether a call may write: a route by its method, a GraphQL mutation; never a message of a WebSocket. */
export function isWriteCall(host: ArgumentsHost): boolean {
  const reply = replyOf(host);
  if (reply === undefined) return false;
  if (host.getType<string>() === 'http') return !READS.has(reply.request.method);
  return host.getArgByIndex<ResolvedField>(3).parentType.name === 'Mutation';
}

/** Names a call in the log: by its request and route, with the field in GraphQL, or by its message. */
export function originOf(host: ArgumentsHost): string {
  const reply = replyOf(host);
  if (reply === undefined) {
    const isRpc = host.getType() === 'rpc';
    const context = isRpc ? host.switchToRpc().getContext<{ getPattern?(): string }>() : host.switchToWs();
    return `message "${context.getPattern?.() ?? ''}" of a ${isRpc ? 'microservice' : 'WebSocket'}`;
  }
  const origin = originOfRequest(reply.request);
  if (host.getType<string>() !== 'graphql') return origin;
  const { fieldName, parentType } = host.getArgByIndex<ResolvedField>(3);
  return `${origin}, ${parentType.name}.${fieldName}`;
}

export function originOfRequest(request: FastifyRequest): string {
  return `request ${request.id}, ${request.method} ${routeOf(request)}`;
}
