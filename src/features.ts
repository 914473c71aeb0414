import type { Setting } from './config/setting.js';
import { COOKIES } from './cookies/cookie.resource.js';
import type { Resource } from './resource/resource.js';

/**
 * What this service stores. The settings of these resources are read at the start, and the command line works on them; a resource
 * stands behind those that it refers to. Their modules are in `app.module.ts`.
 */
export const RESOURCES: readonly Resource[] = [COOKIES];

/** What features declare for operators to set; a feature without a resource adds its own settings here. */
export const SETTINGS: readonly Setting[] = [
  ...RESOURCES.flatMap(({ capacity, settings = [] }) => [capacity, ...settings]),
];
