import {
  type DynamicModule,
  Global,
  Inject,
  Logger,
  Module,
  type OnApplicationBootstrap,
  type OnModuleInit,
  type Type,
} from '@nestjs/common';
import { getRepositoryToken, TypeOrmModule } from '@nestjs/typeorm';
import { DataSource, type EntitySubscriberInterface, type Repository } from 'typeorm';
import { Config } from '../config/config.js';
import { LiveConfig } from '../database/polling/live-config.js';
import { reasonOf } from '../logging/reason.js';
import { ReportedResources } from '../management/reported-resources.js';
import { AuditModule } from './audit/audit.controller.js';
import { deleteExpiredKeys } from './idempotency/idempotency.js';
import { UUID_IDS } from './id-kinds.js';
import { Leases } from './leases.js';
import { ListCache } from './lists/list-cache.js';
import { checkLists } from './lists/list-declaration.js';
import { ListQueue } from './lists/list-queue.js';
import { ListReaders } from './lists/list-readers.js';
import { ResourceLists } from './lists/resource-lists.js';
import { type AnyResourceEntity, UuidResourceEntity } from './resource-entity.js';
import type { Resource } from './resource.js';
import { ResourceRepository } from './store/resource-repository.js';
import { prepareStorage, storeCapacity } from './usage/storage-row.js';
import { UsageCounter } from './usage/usage-counter.js';

/** Gives an id to new records of TypeORM's own repositories. Records of the resource kit have one already. */
const uuidSubscriber: EntitySubscriberInterface<UuidResourceEntity> = {
  listenTo: () => UuidResourceEntity,
  beforeInsert({ entity }) {
    entity.id ??= UUID_IDS.next!();
  },
};

export interface ResourceFeature extends Pick<Resource, 'name' | 'rule' | 'audited'> {
  /** Its table has the resource's plural name. */
  readonly entity: Type<AnyResourceEntity>;
  /** Capacity in records: a setting, or a function of the configuration. */
  readonly capacity: Resource['capacity'] | ((config: Config) => number);
}

/**
 * `ResourceModule` is imported once, `ResourceModule.forFeature({ ...ORDERS, entity: Order })` by each feature, which
 * injects the `ResourceRepository` of its entity by `@InjectResource(Entity)`, or its TypeORM repository.
 */
@Global()
@Module({
  providers: [ListCache, ListQueue, ListReaders, ResourceLists, Leases],
  exports: [ResourceLists, Leases],
})
export class ResourceModule implements OnModuleInit, OnApplicationBootstrap {
  constructor(
    private readonly resources: ReportedResources,
    private readonly live: LiveConfig,
    private readonly dataSource: DataSource,
    private readonly leases: Leases,
  ) {
    dataSource.subscribers.push(uuidSubscriber);
  }

  /** Prepares the `storage` rows, also when a capacity changes. */
  async onModuleInit(): Promise<void> {
    for (const resource of this.resources.all) await prepareStorage(this.dataSource, resource);
    // The counters already have the new capacities: their listeners were added earlier.
    await this.live.onChange(async () => {
      for (const resource of this.resources.all) await storeCapacity(this.dataSource, resource);
    });
  }

  /** Deletes expired idempotency keys from now on, unless `onModuleInit` of a module has failed. */
  onApplicationBootstrap(): void {
    this.leases.everyMinute(
      (signal) => deleteExpiredKeys(this.dataSource, signal),
      (error) => new Logger('IdempotencyKeys').warn(`Expired idempotency keys stay for a minute: ${reasonOf(error)}`),
    );
  }

  static forFeature({ name, entity, capacity, rule, audited }: ResourceFeature): DynamicModule {
    const rows = TypeOrmModule.forFeature([entity]);
    const capacityOf = typeof capacity === 'function' ? capacity : (config: Config) => config.get(capacity);
    const records = {
      provide: resourceToken(entity),
      inject: [getRepositoryToken(entity), Config, LiveConfig, ReportedResources],
      useFactory: async (
        repository: Repository<AnyResourceEntity>,
        config: Config,
        live: LiveConfig,
        reported: ReportedResources,
      ) => {
        const counter = new UsageCounter(name.plural, capacityOf(live.current), audited);
        await live.onChange((current) => {
          counter.capacity = capacityOf(current);
        });
        reported.add(counter);
        if ((repository.metadata as unknown) === undefined) throw notARepository(entity);
        const resource = new ResourceRepository(name, repository, counter, config, await rule?.());
        checkLists(name, resource.table);
        return resource;
      },
    };
    return {
      module: ResourceFeatureModule,
      imports: [rows, ...(audited ? [AuditModule] : [])],
      providers: [records],
      exports: [records, rows],
    };
  }
}

@Module({})
class ResourceFeatureModule {}

function notARepository(entity: Type<AnyResourceEntity>): Error {
  return new Error(
    `The TypeORM repository of ${entity.name} was overridden by an object without its metadata. The ` +
      'ResourceRepository writes its own SQL: override the service of the feature, or the provider ' +
      `'${resourceToken(entity)}'`,
  );
}

const resourceToken = (entity: Type<AnyResourceEntity>): string => `${entity.name}ResourceRepository`;

export const InjectResource = (entity: Type<AnyResourceEntity>): ParameterDecorator => Inject(resourceToken(entity));
