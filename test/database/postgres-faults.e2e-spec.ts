import { replicaKilled } from '../faults/postgres.js';
import { describePostgres } from '../support/engine.js';

describePostgres('on PostgreSQL, under load', () => {
  it('a replica that is killed loses nothing acknowledged, and the other goes on', async () => {
    await replicaKilled({ times: 1 });
  });
});
