import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
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
  providers: [CookiesService, CookiesRepository],
  exports: [CookiesService],
})
export class CookiesModule {}
