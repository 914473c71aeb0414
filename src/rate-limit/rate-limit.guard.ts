import type { ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { type CanActivate, type ExecutionContext, Injectable, Module } from '@nestjs/common';
import { APP_GUARD, Reflector } from '@nestjs/core';
import type { FastifyReply } from 'fastify';
import { DataSource } from 'typeorm';
import { subjectOf } from '../auth/principal.js';
import type { Config } from '../config/config.js';
import { LiveConfig } from '../database/polling/live-config.js';
import { ApiError } from '../http/errors/api-error.js';
import { clientKey, replyOf } from '../http/messages/request.js';
import { RequestCounts, SharedCounts } from './request-counts.js';

/** A class of routes that has separate limits. */
type RouteClass = 'read' | 'write' | 'list';

/** Sets the class in which requests of a route count. Without it, GET and HEAD are `read`, other methods `write`. */
export const RateClass = Reflector.createDecorator<RouteClass>();

/** The shortest and longest time before a 429 in milliseconds: clients that repeat immediately would use up the CPU. */
const DELAY = { least: 250, most: 750 };

/**
 * Counts every request with a valid token and permission, and every request of a public route: 429 beyond a limit. It
 * runs after the guard of `auth`, so that a client without a token cannot use up the limit of an address. A GraphQL
 * request counts once for each of its resolvers; messages of WebSockets do not count.
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  /** The requests of each subject in this process whose response is neither sent nor cut off by a closed connection. */
  private readonly inProgress = new Map<string, Set<ServerResponse>>();
  private readonly counts: RequestCounts;

  constructor(
    private readonly live: LiveConfig,
    dataSource: DataSource,
    private readonly reflector: Reflector,
  ) {
    const isShared = live.current.rateLimit.store === 'database';
    this.counts = new RequestCounts(isShared ? new SharedCounts(dataSource) : undefined);
  }

  canActivate(context: ExecutionContext): true | Promise<true> {
    const reply = replyOf(context);
    // Nest waits for a promise, which costs a request without limits more than this guard.
    if (reply === undefined || !hasLimits(this.live.current)) return true;
    const declared = this.reflector.getAllAndOverride(RateClass, [context.getHandler(), context.getClass()]);
    const isRead = ['GET', 'HEAD'].includes(reply.request.method);
    return this.admit(reply, declared ?? (isRead ? 'read' : 'write'));
  }

  /** @throws {ApiError} 429 after a delay */
  private async admit(reply: FastifyReply, routeClass: RouteClass): Promise<true> {
    try {
      await this.count(reply, routeClass);
      return true;
    } catch (error) {
      // A random time, so that rejected clients do not all repeat together.
      await setTimeout(DELAY.least + Math.random() * (DELAY.most - DELAY.least));
      throw error;
    }
  }

  /**
   * Counts a request and describes its limits in the response (draft-ietf-httpapi-ratelimit-headers-10). The limit of
   * the subject comes first: requests beyond it do not count for the address.
   * @throws {ApiError} 429
   */
  private async count(reply: FastifyReply, routeClass: RouteClass): Promise<void> {
    const { request } = reply;
    const { rateLimit } = this.live.current;
    const { inProgress, window } = rateLimit;
    const isPublic = request.user === undefined;
    if (inProgress !== undefined && !isPublic) this.addInProgress(subjectOf(request), reply.raw, inProgress);
    for (const counted of ['subject', 'address'] as const) {
      const most = rateLimit[counted][routeClass];
      if (most === undefined || (counted === 'subject' && isPublic)) continue;
      const key = counted === 'subject' ? subjectOf(request) : clientKey(request);
      const policy = `${counted}-${routeClass}`;
      const { isExceeded, remaining, seconds } = await this.counts.add(policy, key, most, window);
      append(reply, 'ratelimit-policy', `"${policy}";q=${most};w=${window}`);
      append(reply, 'ratelimit', `"${policy}";r=${remaining};t=${seconds}`);
      if (isExceeded) throw tooManyRequests(counted, most, window, seconds);
    }
  }

  /** @throws {ApiError} 429 if the subject has `most` requests in progress; calls for one response count once */
  private addInProgress(subject: string, response: ServerResponse, most: number): void {
    const open = this.inProgress.get(subject) ?? new Set();
    if (response.closed || open.has(response)) return;
    if (open.size >= most) {
      throw rateLimited(`This subject has ${open.size} requests in progress; wait for a response`, 1);
    }
    this.inProgress.set(subject, open.add(response));
    response.once('close', () => {
      open.delete(response);
      if (open.size === 0) this.inProgress.delete(subject);
    });
  }
}

@Module({ providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }] })
export class RateLimitModule {}

function hasLimits({ rateLimit: { inProgress, subject, address } }: Config): boolean {
  const limit = inProgress ?? subject.read ?? subject.write ?? subject.list;
  return (limit ?? address.read ?? address.write ?? address.list) !== undefined;
}

/** Appends to a list of structured fields (RFC 9651). */
function append(reply: FastifyReply, name: string, item: string): void {
  const items = reply.getHeader(name);
  reply.header(name, items === undefined ? item : `${String(items)}, ${item}`);
}

/** @param seconds until the client may try again */
function rateLimited(message: string, seconds: number): ApiError {
  return new ApiError(429, 'RATE_LIMITED', message, { headers: { 'retry-after': String(seconds) } });
}

export function tooManyRequests(counted: 'subject' | 'address', requests: number, window: number, seconds: number) {
  const limit = `The limit of this ${counted} is ${requests} requests of this kind in ${window} s`;
  return rateLimited(`${limit}; Retry-After says when to try again`, seconds);
}
