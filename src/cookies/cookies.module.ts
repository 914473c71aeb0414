import { Module } from '@nestjs/common';
import { ResourceModule } from '../resource/resource.module.js';
import { Cookie } from './cookie.entity.js';
import { COOKIES } from './cookie.resource.js';
import { COOKIE } from './cookie.values.js';
import { CookiesController } from './cookies.controller.js';
import { CookiesService } from './cookies.service.js';

@Module({
  imports: [ResourceModule.forFeature({ name: COOKIE, entity: Cookie, capacity: COOKIES.capacity })],
  controllers: [CookiesController],
  providers: [CookiesService],
  exports: [CookiesService],
})
export class CookiesModule {}
