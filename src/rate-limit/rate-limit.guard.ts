import type { ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { type CanActivate, type ExecutionContext, Injectable, type OnModuleInit } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply } from 'fastify';
import { DataSource } from 'typeorm';
import { subjectOf } from '../auth/principal.js';
import type { Config } from '../config/config.js';
import { LiveConfig } from '../database/polling/live-config.js';
import { ApiError } from '../http/errors/api-error.js';
import { clientKey, type HttpCall, httpCallOf } from '../http/messages/request.js';
import { Limit, SharedCounts } from './limit.js';
import { type RouteClass, routeClassOf } from './rate-class.decorator.js';

/** The shortest and longest time before a 429 in milliseconds: clients that repeat immediately would use up the CPU. */
const DELAY = { least: 250, most: 750 };

/** Counts the requests of each subject that have no complete response yet, in this process. */
class RequestsInProgress {
  /** Maximum number of requests of one subject; `undefined` for no limit. */
  most?: number;
  private readonly counts = new Map<string, number>();
  private readonly counted = new WeakSet<ServerResponse>();

  /**
   * Counts a request until its response is sent or its connection closes. A repeated call for one response counts once.
   * @throws {ApiError} 429 if the subject has too many requests in progress
   */
  add(subject: string, response: ServerResponse): void {
    if (this.most === undefined || response.closed || this.counted.has(response)) return;
    const count = this.counts.get(subject) ?? 0;
    if (count >= this.most) throw rateLimited(`This subject has ${count} requests in progress; wait for a response`, 1);
    this.counts.set(subject, count + 1);
    this.counted.add(response);
    response.once('close', () => this.remove(subject));
  }

  private remove(subject: string): void {
    const left = this.counts.get(subject)! - 1;
    if (left > 0) this.counts.set(subject, left);
    else this.counts.delete(subject);
  }
}

/**
 * Counts every request with a valid token and permission, and every request of a public route: 429 beyond a limit. It
 * runs after the guard of `auth`, so that a client without a token cannot use up the limit of an address. A GraphQL
 * request counts once for each of its resolvers; messages of WebSockets do not count. Settings (`RATE_LIMIT_...`) may
 * change while the service runs.
 */
@Injectable()
export class RateLimitGuard implements CanActivate, OnModuleInit {
  private readonly inProgress = new RequestsInProgress();
  private readonly counts =
    this.live.current.rateLimit.store === 'database' ? new SharedCounts(this.dataSource) : undefined;
  private hasLimits = false;
  /** The limits of each class of routes, in the order in which they are checked. */
  private limits: Readonly<Record<RouteClass, readonly Limit[]>> = { read: [], write: [], list: [] };

  constructor(
    private readonly live: LiveConfig,
    private readonly dataSource: DataSource,
    private readonly reflector: Reflector,
  ) {}

  onModuleInit(): Promise<void> {
    return this.live.onChange(({ rateLimit }) => {
      const limitsOf = (routeClass: RouteClass): Limit[] => this.limitsOf(routeClass, rateLimit);
      this.limits = { read: limitsOf('read'), write: limitsOf('write'), list: limitsOf('list') };
      this.inProgress.most = rateLimit.inProgress;
      this.hasLimits = rateLimit.inProgress !== undefined || Object.values(this.limits).flat().length > 0;
    });
  }

  canActivate(context: ExecutionContext): true | Promise<true> {
    if (!this.hasLimits) return true;
    const call = httpCallOf(context);
    return call === undefined || this.countOrDelay(call, context);
  }

  /** The limit of the subject comes first: requests beyond it do not count for the address. */
  private limitsOf(routeClass: RouteClass, { window, ...limits }: Config['rateLimit']): Limit[] {
    return (['subject', 'address'] as const).flatMap((counted) => {
      const most = limits[counted][routeClass];
      if (most === undefined) return [];
      const name = `${counted}-${routeClass}`;
      // An unchanged limit keeps its counts.
      const same = this.limits[routeClass].find(
        (old) => old.name === name && old.requests === most && old.window === window,
      );
      return same ?? new Limit(counted, name, most, window, this.counts);
    });
  }

  private async countOrDelay(call: HttpCall, context: ExecutionContext): Promise<true> {
    try {
      await this.count(call, routeClassOf(this.reflector, context, call.request.method));
      return true;
    } catch (error) {
      // A random time, so that rejected clients do not all repeat together.
      await setTimeout(DELAY.least + Math.random() * (DELAY.most - DELAY.least));
      throw error;
    }
  }

  /** @throws {ApiError} 429 */
  private async count({ request, reply }: HttpCall, routeClass: RouteClass): Promise<void> {
    const subject = request.user === undefined ? undefined : subjectOf(request);
    if (subject !== undefined) this.inProgress.add(subject, reply.raw);
    for (const limit of this.limits[routeClass]) {
      const key = limit.counted === 'subject' ? subject : clientKey(request);
      if (key !== undefined) await check(limit, key, reply);
    }
  }
}

/**
 * Counts a request and describes the limit in the response (draft-ietf-httpapi-ratelimit-headers-10).
 * @throws {ApiError} 429
 */
async function check(limit: Limit, key: string, reply: FastifyReply): Promise<void> {
  const { counted, name, requests, window } = limit;
  const { isExceeded, remaining, seconds } = await limit.count(key);
  append(reply, 'ratelimit-policy', `"${name}";q=${requests};w=${window}`);
  append(reply, 'ratelimit', `"${name}";r=${remaining};t=${seconds}`);
  if (isExceeded) throw tooManyRequests(counted, requests, window, seconds);
}

/** Appends to a list of structured fields (RFC 9651). */
function append(reply: FastifyReply, name: string, item: string): void {
  const items = reply.getHeader(name);
  reply.header(name, items === undefined ? item : `${String(items)}, ${item}`);
}

/** 429 for a request beyond a limit. @param seconds until the client may try again */
function rateLimited(message: string, seconds: number): ApiError {
  return new ApiError(429, 'RATE_LIMITED', message, { headers: { 'retry-after': String(seconds) } });
}

/** 429 for a subject or an address with too many requests in the window. */
export function tooManyRequests(counted: 'subject' | 'address', requests: number, window: number, seconds: number) {
  const limit = `The limit of this ${counted} is ${requests} requests of this kind in ${window} s`;
  return rateLimited(`${limit}; Retry-After says when to try again`, seconds);
}
