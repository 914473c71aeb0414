import type { Setting } from './config/setting.js';
import { COOKIES } from './cookies/cookie.resource.js';
import type { Resource } from './resource/resource.js';

/**
 * The resources of the service. The start reads their settings, and the command line works on them. A resource comes
 * after the resources that it refers to. `app.module.ts` lists their modules.
 */
export const RESOURCES: readonly Resource[] = [COOKIES];

/** The settings of features. A feature without a resource adds its own settings here. */
export const SETTINGS: readonly Setting[] = [
  ...RESOURCES.flatMap(({ capacity, settings = [] }) => [capacity, ...settings]),
];
