import { Injectable } from '@nestjs/common';
import { InjectResource } from '../resource/resource.module.js';
import { ResourceRepository } from '../resource/store/resource-repository.js';
import { Cookie } from './cookie.entity.js';

/** The operations on cookies. Rules for cookies become methods here. */
@Injectable()
export class CookiesService {
  constructor(@InjectResource(Cookie) readonly records: ResourceRepository<Cookie>) {}
}
