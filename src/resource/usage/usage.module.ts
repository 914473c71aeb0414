import { type DynamicModule, Module } from '@nestjs/common';
import { Config } from '../../config/config.js';
import { ReportedResources } from '../../management/reported-resources.js';
import { UsageCounter } from './usage-counter.js';

export interface CountedResource {
  /** The resource's plural name, as in its URL and in its `storage` row. */
  readonly resource: string;
  /** Capacity in records. */
  readonly capacity: (config: Config) => number;
}

/** Counts records of a feature with a table of its own that `createResourceTable` has made; `UsageCounter` reads the count. */
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
