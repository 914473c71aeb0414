import { postgresKilled, replicaKilled, standbyPromoted } from '../faults/postgres.js';
import { describePostgres } from '../support/engine.js';

describePostgres('on PostgreSQL, under load', () => {
  it('a server that is killed and started again takes nothing acknowledged with it', async () => {
    await postgresKilled({ times: 1 });
  });

  it('a replica that is killed takes nothing acknowledged with it, and the other goes on', async () => {
    await replicaKilled({ times: 1 });
  });

  it('a standby that is promoted has everything acknowledged, and is found by itself', async () => {
    await standbyPromoted({ times: 1 });
  });
});
