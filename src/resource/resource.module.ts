import { Global, Module } from '@nestjs/common';
import { ListCache } from './lists/list-cache.js';
import { ListQueue } from './lists/list-queue.js';
import { ListReaders } from './lists/list-readers.js';

/** What the lists of all resources share: their cache, their turns and their readers. */
@Global()
@Module({
  providers: [ListCache, ListQueue, ListReaders],
  exports: [ListCache, ListQueue, ListReaders],
})
export class ResourceModule {}
