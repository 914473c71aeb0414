import { Injectable } from '@nestjs/common';
import type { ResourceStorage } from './resource-storage.js';

/** Every resource that has an account, for those who report on all of them. */
@Injectable()
export class StorageRegistry {
  private readonly byResource = new Map<string, ResourceStorage>();

  get resources(): Iterable<ResourceStorage> {
    return this.byResource.values();
  }

  add(storage: ResourceStorage): void {
    this.byResource.set(storage.resource, storage);
  }
}
