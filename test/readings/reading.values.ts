import { ResourceName } from '../../src/resource/resource.js';

export const READING = new ResourceName('reading');
export const KINDS = ['indoor', 'outdoor'] as const;
export type Kind = (typeof KINDS)[number];
