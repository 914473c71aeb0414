import { ResourceName } from '../../src/resource/resource-name.js';

export const READING = new ResourceName('reading');
export const KINDS = ['indoor', 'outdoor'] as const;
export type Kind = (typeof KINDS)[number];
