import { type DynamicModule, Module } from '@nestjs/common';
import { APP_GUARD, Reflector } from '@nestjs/core';
import { getDataSourceToken } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import type { Config } from '../config/config.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { RequestsInProgress } from './requests-in-progress.js';
import { SharedCounts } from './shared-counts.js';

/** Rate limits for subjects and addresses (`RATE_LIMIT_...`). Without a limit there is no guard. */
@Module({})
export class RateLimitModule {
  static forRoot(config: Config): DynamicModule {
    const { subject, address, inProgress } = config.rateLimit;
    const all = [...Object.values(subject), ...Object.values(address), inProgress];
    if (all.every((most) => most === undefined)) return { module: RateLimitModule };
    const guard = {
      provide: APP_GUARD,
      inject: [getDataSourceToken(), Reflector],
      useFactory: (dataSource: DataSource, reflector: Reflector) => makeGuard(config, dataSource, reflector),
    };
    return { module: RateLimitModule, providers: [guard] };
  }
}

async function makeGuard({ rateLimit }: Config, dataSource: DataSource, reflector: Reflector) {
  // Loaded here, because a service without limits starts faster without the library.
  const { Limit } = await import('./limit.js');
  const counts = rateLimit.store === 'database' ? new SharedCounts(dataSource) : undefined;
  // The subject comes first: what it sends beyond its own limit does not use up that of its address.
  const limitsOf = (routeClass: 'read' | 'write' | 'list') =>
    (['subject', 'address'] as const).flatMap((counted) => {
      const most = rateLimit[counted][routeClass];
      return most === undefined ? [] : [new Limit(counted, `${counted}-${routeClass}`, most, rateLimit.window, counts)];
    });
  const limits = { read: limitsOf('read'), write: limitsOf('write'), list: limitsOf('list') };
  return new RateLimitGuard(limits, new RequestsInProgress(rateLimit.inProgress), reflector);
}
