import { engineInUse, hasEngine } from '../engine.js';
import { describeBodies } from './bodies.js';
import { describeCapacity } from './capacity.js';
import { describeConcurrentLists } from './concurrent-lists.js';
import { describeConformance } from './conformance.js';
import { derivedContract } from './derived-contract.js';
import { describeIdempotency } from './idempotency.js';
import { describeImport } from './imports.js';
import { describeLists } from './lists.js';
import { describeOneRecord } from './one-record.js';
import { describePreconditions } from './preconditions.js';
import { describeRanges } from './ranges.js';
import { describeReferences } from './references.js';
import { describeRejections } from './rejections.js';
import type { ResourceContract } from './resource-contract.js';
import { ResourceUnderTest } from './resource-under-test.js';
import { describeUniqueness } from './uniqueness.js';

/**
 * Tests all promises of the service for a resource, on the engine in use, with one service whose records are deleted
 * between tests: `await describeResource({ path: '/orders' })`. The spec also runs on PostgreSQL if a file in
 * `test/on-postgres` imports it.
 */
export async function describeResource(given: ResourceContract): Promise<void> {
  if (!hasEngine()) return describe.skip(given.path, () => it('needs the engine', () => {}));
  const contract = await derivedContract(given);
  const resource = new ResourceUnderTest(contract);

  describe(`${contract.path} (${engineInUse()})`, () => {
    beforeAll(() => resource.start());

    afterAll(() => resource.service.stop());

    describeOneRecord(resource);
    if (engineInUse() === 'sqlite') {
      // No engine sees a request that is rejected.
      describeBodies(resource);
      describeRejections(resource);
    }
    describePreconditions(resource);
    describeLists(resource);
    describeRanges(resource);
    describeConcurrentLists(resource);
    describeCapacity(resource);
    describeIdempotency(resource);
    describeReferences(resource);
    describeUniqueness(resource);
    describeImport(resource);
    describeConformance(resource);
  });
}
