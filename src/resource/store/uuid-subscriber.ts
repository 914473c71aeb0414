import { Injectable } from '@nestjs/common';
import { DataSource, type EntitySubscriberInterface, type InsertEvent } from 'typeorm';
import { UUID_IDS } from '../id-kinds.js';
import { UuidResourceEntity } from '../resource-entity.js';

/** Gives an id to new records of TypeORM's own repositories; the statements of the kit bring one. */
@Injectable()
export class UuidSubscriber implements EntitySubscriberInterface<UuidResourceEntity> {
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
