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

/**
 * Holds a resource to everything that the service promises of any, on the engine in use: one service for all of it, whose
 * records of the resource are deleted between the tests. A spec that it is called in runs on PostgreSQL, too, when a file of
 * `test/on-postgres` imports it.
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
    describeConformance(resource);
  });
}
