import { Logger } from '@nestjs/common';
import { engineInUse } from '../engine.js';
import { describeBodies } from './bodies.js';
import { describeCapacity } from './capacity.js';
import { describeConcurrentLists } from './concurrent-lists.js';
import { describeConformance } from './conformance.js';
import { describeLists } from './lists.js';
import { describeOneRecord } from './one-record.js';
import { describePreconditions } from './preconditions.js';
import { describeReferences } from './references.js';
import { describeRejections } from './rejections.js';
import type { ResourceContract } from './resource-contract.js';
import { ResourceUnderTest } from './resource-under-test.js';
import { describeUniqueness } from './uniqueness.js';

/**
 * Tests all promises of the service for a resource, on the engine in use, with one service whose records are deleted
 * between tests. A spec with this call also runs on PostgreSQL if a file in `test/on-postgres` imports it.
 */
export function describeResource(contract: ResourceContract): void {
  const resource = new ResourceUnderTest(contract);

  describe(`${contract.path} (${engineInUse()})`, () => {
    beforeAll(() => {
      Logger.overrideLogger(false);
      return resource.start();
    });

    afterAll(() => resource.service.stop());

    describeOneRecord(resource);
    describeBodies(resource);
    describeRejections(resource);
    describePreconditions(resource);
    describeLists(resource);
    describeConcurrentLists(resource);
    describeCapacity(resource);
    describeReferences(resource);
    describeUniqueness(resource);
    describeConformance(resource);
  });
}
