import { ResourceName } from '../../src/resource/resource.js';

export const PARCEL = new ResourceName('parcel');
export const STATUSES = ['open', 'paid', 'shipped'] as const;
export type Status = (typeof STATUSES)[number];
