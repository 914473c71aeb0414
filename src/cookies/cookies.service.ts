import { Injectable } from '@nestjs/common';
import { InjectResource } from '../resource/resource.module.js';
import { ResourceRepository } from '../resource/store/resource-repository.js';
import { Cookie } from './cookie.entity.js';

/** What can be done with cookies: what can be done with any resource. Rules of their own become methods here. */
@Injectable()
export class CookiesService {
  constructor(@InjectResource(Cookie) readonly records: ResourceRepository<Cookie>) {}
}
