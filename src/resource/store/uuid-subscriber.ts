import { Injectable } from '@nestjs/common';
import { DataSource, type EntitySubscriberInterface, type InsertEvent } from 'typeorm';
import { UUID_IDS } from '../id-kinds.js';
import { UuidResourceEntity } from '../resource-entity.js';

/** Gives an id to new records of TypeORM's own repositories. Records of the resource kit have one already. */
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
