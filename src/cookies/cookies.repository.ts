import { Injectable } from '@nestjs/common';
import { InjectStore } from '../resource/resource.module.js';
import { ResourceStore } from '../resource/store/resource-store.js';
import { Cookie } from './cookie.entity.js';

/** How cookies are stored: as any resource is. SQL of their own would stand here. */
@Injectable()
export class CookiesRepository {
  constructor(@InjectStore(Cookie) readonly store: ResourceStore<Cookie>) {}
}
