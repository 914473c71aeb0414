import { killed, killedBesideAnother, replicaKilledOn } from '../faults/killed.js';
import { createDatabase, describePostgres, dropDatabases } from '../support/engine.js';

describe('a process killed under load', () => {
  it('loses no acknowledged record, and another process on the file continues', async () => {
    await killedBesideAnother({ times: 1 });
  });

  it('keeps everything acknowledged and nothing rejected when it is started again', async () => {
    await killed({ times: 1 });
  });
});

describePostgres('a replica killed under load', () => {
  afterAll(dropDatabases);

  it('loses no acknowledged record, and the other one continues', async () => {
    await replicaKilledOn(await createDatabase(`killed_${process.pid}`), { times: 1 });
  });
});
