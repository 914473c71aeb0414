import { Module } from '@nestjs/common';
import { APP_GUARD, Reflector } from '@nestjs/core';
import { getDataSourceToken } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { LiveConfig } from '../database/polling/live-config.js';
import { Limit, SharedCounts } from './limit.js';
import type { RouteClass } from './rate-class.decorator.js';
import { RateLimitGuard } from './rate-limit.guard.js';

/** Rate limits for subjects and addresses (`RATE_LIMIT_...`), which may change while the service runs. */
@Module({
  providers: [{ provide: APP_GUARD, inject: [LiveConfig, getDataSourceToken(), Reflector], useFactory: makeGuard }],
})
export class RateLimitModule {}

async function makeGuard(live: LiveConfig, dataSource: DataSource, reflector: Reflector): Promise<RateLimitGuard> {
  const guard = new RateLimitGuard(reflector);
  const counts = live.current.rateLimit.store === 'database' ? new SharedCounts(dataSource) : undefined;
  await live.onChange(({ rateLimit }) => {
    const { window } = rateLimit;
    const known = Object.values(guard.limits).flat();
    // The limit of the subject comes first: requests beyond it do not count for the address.
    const limitsOf = (routeClass: RouteClass): Limit[] =>
      (['subject', 'address'] as const).flatMap((counted) => {
        const most = rateLimit[counted][routeClass];
        if (most === undefined) return [];
        const name = `${counted}-${routeClass}`;
        // An unchanged limit keeps its counts.
        const same = known.find((old) => old.name === name && old.requests === most && old.window === window);
        return same ?? new Limit(counted, name, most, window, counts);
      });
    guard.limits = { read: limitsOf('read'), write: limitsOf('write'), list: limitsOf('list') };
    guard.inProgress.most = rateLimit.inProgress;
  });
  return guard;
}
