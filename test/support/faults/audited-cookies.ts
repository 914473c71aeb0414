import { preloaded, projectModule } from './preloaded.js';

/** Declares cookies with `audited: true` in the process of a service. */
export const AUDITED_COOKIES = preloaded(`
  import { COOKIES } from '${projectModule('dist/src/cookies/cookie.resource.js')}';
  Object.assign(COOKIES, { audited: true });`);
