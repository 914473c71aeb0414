import { Module } from '@nestjs/common';
import { getRepositoryToken, TypeOrmModule } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { ResourceStorage } from '../storage/resource-storage.js';
import { StorageModule } from '../storage/storage.module.js';
import { Cookie } from './cookie.entity.js';
import { CookiesController } from './cookies.controller.js';
import { CookiesRepository } from './cookies.repository.js';
import { CookiesService } from './cookies.service.js';

@Module({
  imports: [
    TypeOrmModule.forFeature([Cookie]),
    StorageModule.forFeature({ resource: 'cookies', capacity: ({ cookiesCapacity }) => cookiesCapacity }),
  ],
  controllers: [CookiesController],
  providers: [
    CookiesService,
    {
      provide: CookiesRepository,
      inject: [getRepositoryToken(Cookie), ResourceStorage],
      useFactory: (cookies: Repository<Cookie>, storage: ResourceStorage) => new CookiesRepository(cookies, storage),
    },
  ],
  exports: [CookiesService],
})
export class CookiesModule {}
