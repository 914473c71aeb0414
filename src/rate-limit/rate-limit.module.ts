import { Module } from '@nestjs/common';
import { APP_GUARD, Reflector } from '@nestjs/core';
import { getDataSourceToken } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import type { Config } from '../config/config.js';
import { LiveConfig } from '../database/polling/live-config.js';
import type { Limit } from './limit.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { SharedCounts } from './shared-counts.js';

/** Rate limits for subjects and addresses (`RATE_LIMIT_...`), which may change while the service runs. */
@Module({
  providers: [{ provide: APP_GUARD, inject: [LiveConfig, getDataSourceToken(), Reflector], useFactory: makeGuard }],
})
export class RateLimitModule {}

async function makeGuard(live: LiveConfig, dataSource: DataSource, reflector: Reflector): Promise<RateLimitGuard> {
  const guard = new RateLimitGuard(reflector);
  const counts = live.current.rateLimit.store === 'database' ? new SharedCounts(dataSource) : undefined;
  await live.onChange(async ({ rateLimit }) => {
    const known = Object.values(guard.limits).flat();
    guard.limits = {
      read: await limitsOf('read', rateLimit, known, counts),
      write: await limitsOf('write', rateLimit, known, counts),
      list: await limitsOf('list', rateLimit, known, counts),
    };
    guard.inProgress.most = rateLimit.inProgress;
  });
  return guard;
}

/** @param known the previous limits; an unchanged limit keeps its counts */
async function limitsOf(
  routeClass: 'read' | 'write' | 'list',
  rateLimit: Config['rateLimit'],
  known: readonly Limit[],
  counts?: SharedCounts,
): Promise<Limit[]> {
  const limits: Limit[] = [];
  // The limit of the subject comes first: requests beyond it do not count for the address.
  for (const counted of ['subject', 'address'] as const) {
    const most = rateLimit[counted][routeClass];
    if (most === undefined) continue;
    const name = `${counted}-${routeClass}`;
    const old = known.find((limit) => limit.name === name);
    const isUnchanged = old?.requests === most && old.window === rateLimit.window;
    // Loaded here, because a service without limits starts faster without the library.
    const { Limit } = await import('./limit.js');
    limits.push(isUnchanged ? old : new Limit(counted, name, most, rateLimit.window, counts));
  }
  return limits;
}
