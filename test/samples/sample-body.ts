import type { NewRecord } from '../../src/resource/resource-entity.js';
import type { Sample } from './sample.entity.js';

let count = 0;

/** A valid body of POST, with other unique values in each call. */
export const sampleBody = (changes: object = {}) => ({
  ...{ code: `c${++count}`, quantity: count % 1000, weight: 1, startsAt: '2026-01-31T12:00:00Z' },
  ...{ day: new Date(86_400_000 * count).toISOString().slice(0, 10), status: 'open' as const, cookieId: 1 },
  ...{ deviceId: '01999999-0000-7000-8000-000000000001', address: { street: 'x' } },
  ...changes,
});

/** The values of a valid sample, for code that stores it without a request. */
export const sampleValues = (changes: Partial<NewRecord<Sample>> = {}): NewRecord<Sample> => ({
  ...sampleBody(),
  ...{ isOpen: true, price: '1.00', state: 'new', startsAt: new Date('2026-03-01T12:00:00Z') },
  ...changes,
});
