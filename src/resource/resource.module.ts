import { type DynamicModule, Global, Inject, Injectable, Module, type OnModuleInit, type Type } from '@nestjs/common';
import { getRepositoryToken, TypeOrmModule } from '@nestjs/typeorm';
import { DataSource, type EntitySubscriberInterface, type InsertEvent, type Repository } from 'typeorm';
import { Config } from '../config/config.js';
import { LiveConfig } from '../database/polling/live-config.js';
import { ReportedResources } from '../management/reported-resources.js';
import { AuditModule } from './audit/audit.module.js';
import { ExpiredKeys } from './idempotency/expired-keys.js';
import { UUID_IDS } from './id-kinds.js';
import { Leases } from './leases.js';
import { ListCache } from './lists/list-cache.js';
import { checkLists } from './lists/list-declaration.js';
import { ListQueue } from './lists/list-queue.js';
import { ListReaders } from './lists/list-readers.js';
import { ResourceLists } from './lists/resource-lists.js';
import { type AnyResourceEntity, UuidResourceEntity } from './resource-entity.js';
import type { Resource, ResourceName } from './resource.js';
import { ResourceRepository } from './store/resource-repository.js';
import { prepareStorage } from './usage/storage-row.js';
import { UsageCounter } from './usage/usage-counter.js';

/** Gives an id to new records of TypeORM's own repositories. Records of the resource kit have one already. */
@Injectable()
class UuidSubscriber implements EntitySubscriberInterface<UuidResourceEntity> {
  constructor({ subscribers }: DataSource) {
    subscribers.push(this);
  }

  listenTo(): typeof UuidResourceEntity {
    return UuidResourceEntity;
  }

  beforeInsert({ entity }: InsertEvent<UuidResourceEntity>): void {
    entity.id ??= UUID_IDS.next!();
  }
}

export interface ResourceFeature {
  readonly name: ResourceName;
  /** Its table has the resource's plural name. */
  readonly entity: Type<AnyResourceEntity>;
  /** Capacity in records: a setting, or a function of the configuration. */
  readonly capacity: Resource['capacity'] | ((config: Config) => number);
  readonly rule?: Resource['rule'];
  readonly audited?: Resource['audited'];
}

/**
 * `ResourceModule` is imported once, `ResourceModule.forFeature({ ...ORDERS, entity: Order })` by each feature, which
 * injects the `ResourceRepository` of its entity by `@InjectResource(Entity)`, or its TypeORM repository.
 */
@Global()
@Module({
  providers: [ListCache, ListQueue, ListReaders, ResourceLists, ExpiredKeys, Leases, UuidSubscriber],
  exports: [ResourceLists, Leases],
})
export class ResourceModule implements OnModuleInit {
  constructor(
    private readonly resources: ReportedResources,
    private readonly live: LiveConfig,
    private readonly dataSource: DataSource,
  ) {}

  /** Prepares the `storage` rows before the start and when a capacity changes. */
  async onModuleInit(): Promise<void> {
    // The counters already have the new capacities: their listeners were added earlier.
    await this.live.onChange(async () => {
      for (const resource of this.resources.all) await prepareStorage(this.dataSource, resource);
    });
  }

  static forFeature({ name, entity, capacity, rule, audited }: ResourceFeature): DynamicModule {
    const rows = TypeOrmModule.forFeature([entity]);
    const capacityOf = typeof capacity === 'function' ? capacity : (config: Config) => config.get(capacity);
    return {
      module: ResourceFeatureModule,
      imports: [rows, ...(audited ? [AuditModule] : [])],
      providers: [
        {
          provide: UsageCounter,
          inject: [LiveConfig, ReportedResources],
          useFactory: async (live: LiveConfig, reported: ReportedResources) => {
            const counter = new UsageCounter(name.plural, capacityOf(live.current), audited);
            await live.onChange((config) => {
              counter.capacity = capacityOf(config);
            });
            reported.add(counter);
            return counter;
          },
        },
        {
          provide: resourceToken(entity),
          inject: [getRepositoryToken(entity), UsageCounter, Config],
          useFactory: async (repository: Repository<AnyResourceEntity>, counter: UsageCounter, config: Config) => {
            const records = new ResourceRepository(name, repository, counter, config, await rule?.());
            checkLists(name, records.table);
            return records;
          },
        },
      ],
      exports: [resourceToken(entity), rows],
    };
  }
}

@Module({})
class ResourceFeatureModule {}

const resourceToken = (entity: Type<AnyResourceEntity>): string => `${entity.name}ResourceRepository`;

export const InjectResource = (entity: Type<AnyResourceEntity>): ParameterDecorator => Inject(resourceToken(entity));
