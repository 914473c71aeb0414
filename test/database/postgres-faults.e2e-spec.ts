import { replicaKilled } from '../faults/killed.js';
import { describePostgres } from '../support/engine.js';

describePostgres('on PostgreSQL, under load', () => {
  it('a killed replica loses no acknowledged record, and the other one continues', async () => {
    await replicaKilled({ times: 1 });
  });
});
