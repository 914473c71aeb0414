import { Module } from '@nestjs/common';
import { ResourceModule } from '../resource/resource.module.js';
import { Cookie } from './cookie.entity.js';
import { COOKIES } from './cookie.resource.js';
import { CookiesController } from './cookies.controller.js';
import { CookiesService } from './cookies.service.js';

@Module({
  imports: [ResourceModule.forFeature({ ...COOKIES, entity: Cookie })],
  controllers: [CookiesController],
  providers: [CookiesService],
  exports: [CookiesService],
})
export class CookiesModule {}
