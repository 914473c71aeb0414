import { type DynamicModule, Module } from '@nestjs/common';
import { Config } from '../../config/config.js';
import { ReportedResources } from '../../management/reported-resources.js';
import { UsageCounter } from './usage-counter.js';

export interface CountedResource {
  /** The resource's plural name, as in its URL and in its `storage` row. */
  readonly resource: string;
  /** How many records it may hold. */
  readonly capacity: (config: Config) => number;
}

/** For a feature that stores its records itself: it imports `UsageModule.forFeature` and injects `UsageCounter`. */
@Module({})
export class UsageModule {
  static forFeature({ resource, capacity }: CountedResource): DynamicModule {
    return {
      module: UsageModule,
      providers: [
        {
          provide: UsageCounter,
          inject: [Config, ReportedResources],
          useFactory: (config: Config, reported: ReportedResources) => {
            const counter = new UsageCounter(resource, capacity(config));
            reported.add(counter);
            return counter;
          },
        },
      ],
      exports: [UsageCounter],
    };
  }
}
