import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Config } from '../config/config.js';
import { CountCheck } from './count-check.js';
import { ResourceStorage } from './resource-storage.js';
import { StorageRegistry } from './storage-registry.js';

export interface StorageFeature {
  /** The resource's plural name, as in its URL and in its `storage` row. */
  readonly resource: string;
  /** How many records it may hold. */
  readonly capacity: (config: Config) => number;
}

/** `StorageModule` itself is imported once; a feature imports `StorageModule.forFeature` and injects `ResourceStorage`. */
@Global()
@Module({ providers: [StorageRegistry, CountCheck], exports: [StorageRegistry] })
export class StorageModule {
  static forFeature({ resource, capacity }: StorageFeature): DynamicModule {
    return {
      module: StorageFeatureModule,
      providers: [
        {
          provide: ResourceStorage,
          inject: [Config, StorageRegistry],
          useFactory: (config: Config, registry: StorageRegistry) => {
            const storage = new ResourceStorage(resource, capacity(config));
            registry.add(storage);
            return storage;
          },
        },
      ],
      exports: [ResourceStorage],
    };
  }
}

@Module({})
class StorageFeatureModule {}
