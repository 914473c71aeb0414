import { type DynamicModule, Global, Inject, Module, type Type } from '@nestjs/common';
import { getRepositoryToken, TypeOrmModule } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { ResourceStorage } from '../storage/resource-storage.js';
import { type StorageFeature, StorageModule } from '../storage/storage.module.js';
import { ListCache } from './lists/list-cache.js';
import { ListQueue } from './lists/list-queue.js';
import { ListReaders } from './lists/list-readers.js';
import { ResourceLists } from './lists/resource-lists.js';
import type { ResourceEntity } from './store/resource-entity.js';
import { ResourceStore } from './store/resource-store.js';

export interface ResourceFeature extends StorageFeature {
  /** Its table has the resource's plural name. */
  readonly entity: Type<ResourceEntity>;
}

/**
 * `ResourceModule` itself is imported once; a feature imports `ResourceModule.forFeature`, and gets the store of its records by
 * `@InjectStore(Entity)`, their `ResourceStorage`, and the entity's repository.
 */
@Global()
@Module({
  providers: [ListCache, ListQueue, ListReaders, ResourceLists],
  exports: [ListCache, ListQueue, ListReaders, ResourceLists],
})
export class ResourceModule {
  static forFeature({ entity, ...feature }: ResourceFeature): DynamicModule {
    const repositories = TypeOrmModule.forFeature([entity]);
    const storage = StorageModule.forFeature(feature);
    return {
      module: ResourceFeatureModule,
      imports: [repositories, storage],
      providers: [
        {
          provide: storeToken(entity),
          inject: [getRepositoryToken(entity), ResourceStorage],
          useFactory: (repository: Repository<ResourceEntity>, count: ResourceStorage) =>
            new ResourceStore(repository, count),
        },
      ],
      exports: [storeToken(entity), repositories, storage],
    };
  }
}

@Module({})
class ResourceFeatureModule {}

/** The token of an entity's `ResourceStore`. */
export const storeToken = (entity: Type<ResourceEntity>): string => `${entity.name}Store`;

/** Injects the `ResourceStore` of an entity. */
export const InjectStore = (entity: Type<ResourceEntity>): ParameterDecorator => Inject(storeToken(entity));
