/** Gives cookies an audit trail. */
import { COOKIES } from '../../../dist/src/cookies/cookie.resource.js';

Object.assign(COOKIES, { audited: true });
await import('../../../dist/src/main.js');
