import { type DynamicModule, Global, Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Config } from '../config/config.js';
import { rejectCascadesInto } from './foreign-keys.js';
import { ResourceStorage } from './resource-storage.js';

/** Every resource that has an account, for those who report on all of them. */
@Injectable()
export class StorageRegistry implements OnModuleInit {
  private readonly byResource = new Map<string, ResourceStorage>();

  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /** @throws {DatabaseStartError} for a schema that would make a count wrong */
  async onModuleInit(): Promise<void> {
    for (const resource of this.byResource.keys()) await rejectCascadesInto(this.dataSource, resource);
  }

  get resources(): Iterable<ResourceStorage> {
    return this.byResource.values();
  }

  add(storage: ResourceStorage): void {
    this.byResource.set(storage.resource, storage);
  }
}

export interface StorageFeature {
  /** The resource's plural name, as in its URL and in its `storage` row. */
  readonly resource: string;
  /** How many records it may hold. */
  readonly capacity: (config: Config) => number;
}

/** `StorageModule` itself is imported once; a feature imports `StorageModule.forFeature` and injects `ResourceStorage`. */
@Global()
@Module({ providers: [StorageRegistry], exports: [StorageRegistry] })
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
