import { Injectable, type OnModuleInit } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { rejectCascadesInto } from './foreign-keys.js';
import type { ResourceStorage } from './resource-storage.js';

/** Every resource whose records are counted, for those who report on all of them. */
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
