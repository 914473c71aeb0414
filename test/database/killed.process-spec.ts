import { killed, killedBesideAnother, replicaKilled } from '../faults/killed.js';
import { describePostgres } from '../support/engine.js';

describe('a process killed under load', () => {
  it('loses no acknowledged record, and another process on the file continues', async () => {
    await killedBesideAnother({ times: 1 });
  });

  it('keeps everything acknowledged and nothing rejected over two kills and restarts', async () => {
    await killed({ times: 2 });
  });
});

describePostgres('on PostgreSQL, under load', () => {
  it('a killed replica loses no acknowledged record, and the other one continues', async () => {
    await replicaKilled({ times: 1 });
  });
});
