import { ResourceName } from '../../src/resource/resource-name.js';

export const ORDER = new ResourceName('order');
export const STATUSES = ['open', 'paid', 'shipped'] as const;
export type Status = (typeof STATUSES)[number];
