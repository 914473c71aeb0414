import type { ResourceLines } from '../resource/lines/record-reader.js';
import { Cookie } from './cookie.entity.js';
import { COOKIE } from './cookie.values.js';

/** Cookies for the command line, which does without Nest; `cookie-lines.spec.ts` holds their checks to the DTO class. */
export const COOKIE_LINES: ResourceLines<Cookie> = {
  name: COOKIE,
  entity: Cookie,
  createDto: async () => (await import('./dto/create-cookie.dto.js')).CreateCookieDto,
  checksSuffice: true,
};
