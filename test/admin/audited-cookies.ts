import { COOKIES } from '../../src/cookies/cookie.resource.js';

// A spec imports this file first: the module of the cookies reads the declaration when it is loaded.
Object.assign(COOKIES, { audited: true });
