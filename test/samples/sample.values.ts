import { UUID_IDS } from '../../src/resource/id-kinds.js';
import { ResourceName } from '../../src/resource/resource.js';

export const SAMPLE = new ResourceName('sample', 'samples', UUID_IDS);

export const SAMPLE_STATUSES = ['open', 'paid'] as const;
export type SampleStatus = (typeof SAMPLE_STATUSES)[number];

export const SAMPLE_PAPERS = ['plain', 'striped'] as const;
export type SamplePaper = (typeof SAMPLE_PAPERS)[number];

export const SAMPLE_STATES = ['new', 'used'] as const;
export type SampleState = (typeof SAMPLE_STATES)[number];

export interface SamplePoint {
  east: number;
  north: number;
}

export interface SampleAddress {
  street: string;
  zip?: number | null;
  since?: Date | string | null;
  point?: SamplePoint | null;
}
