import { type DynamicModule, Global, Inject, Module, type Type } from '@nestjs/common';
import { getRepositoryToken, TypeOrmModule } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { Config } from '../config/config.js';
import { ResourceStorage } from '../storage/resource-storage.js';
import { StorageModule } from '../storage/storage.module.js';
import { checkLists } from './lists/list-check.js';
import { ListCache } from './lists/list-cache.js';
import { ListQueue } from './lists/list-queue.js';
import { ListReaders } from './lists/list-readers.js';
import { ResourceLists } from './lists/resource-lists.js';
import type { Resource } from './resource.js';
import type { ResourceName } from './resource-name.js';
import { ResourceService } from './resource-service.js';
import type { ResourceEntity } from './store/resource-entity.js';
import { ResourceStore } from './store/resource-store.js';

export interface ResourceFeature {
  readonly name: ResourceName;
  /** Its table has the resource's plural name. */
  readonly entity: Type<ResourceEntity>;
  /** How many records may be stored: the setting that says so, or where it comes from else. */
  readonly capacity: Resource['capacity'] | ((config: Config) => number);
}

/**
 * `ResourceModule` itself is imported once. A feature imports `ResourceModule.forFeature`, and injects the entity's
 * `ResourceStore` by `@InjectStore(Entity)`, its `ResourceService` by `@InjectResource(Entity)`, or its TypeORM repository.
 */
@Global()
@Module({
  providers: [ListCache, ListQueue, ListReaders, ResourceLists],
  exports: [ListCache, ListQueue, ListReaders, ResourceLists],
})
export class ResourceModule {
  static forFeature({ name, entity, capacity }: ResourceFeature): DynamicModule {
    const repositories = TypeOrmModule.forFeature([entity]);
    const storage = StorageModule.forFeature({
      resource: name.plural,
      capacity: typeof capacity === 'function' ? capacity : (config) => config.get(capacity),
    });
    return {
      module: ResourceFeatureModule,
      imports: [repositories, storage],
      providers: [
        {
          provide: storeToken(entity),
          inject: [getRepositoryToken(entity), ResourceStorage],
          useFactory: (repository: Repository<ResourceEntity>, count: ResourceStorage) => {
            const store = new ResourceStore(repository, count);
            checkLists(name, store.table);
            return store;
          },
        },
        {
          provide: serviceToken(entity),
          inject: [storeToken(entity), Config],
          useFactory: (store: ResourceStore<ResourceEntity>, config: Config) =>
            new ResourceService(name, store, config),
        },
      ],
      exports: [storeToken(entity), serviceToken(entity), repositories, storage],
    };
  }
}

@Module({})
class ResourceFeatureModule {}

const storeToken = (entity: Type<ResourceEntity>): string => `${entity.name}ResourceStore`;
const serviceToken = (entity: Type<ResourceEntity>): string => `${entity.name}ResourceService`;

/** Injects the `ResourceStore` of an entity. */
export const InjectStore = (entity: Type<ResourceEntity>): ParameterDecorator => Inject(storeToken(entity));

/** Injects the `ResourceService` of an entity. */
export const InjectResource = (entity: Type<ResourceEntity>): ParameterDecorator => Inject(serviceToken(entity));
