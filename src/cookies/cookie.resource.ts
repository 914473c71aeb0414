import { capacitySetting, type Resource } from '../resource/resource.js';
import type { Cookie } from './cookie.entity.js';
import { COOKIE, FLAVORS, SIZES } from './cookie.values.js';

/** The resource for the configuration and the command line. */
export const COOKIES: Resource<Cookie> = {
  name: COOKIE,
  capacity: capacitySetting('COOKIES_CAPACITY', COOKIE),
  filters: { flavor: FLAVORS, size: SIZES },
  entity: async () => (await import('./cookie.entity.js')).Cookie,
  createDto: async () => (await import('./dto/cookie.dto.js')).CreateCookieDto,
};
