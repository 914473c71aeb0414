import { killed, killedBesideAnother } from '../faults/killed.js';

describe('a process killed under load', () => {
  it('loses no acknowledged record, and another process on the file continues', async () => {
    await killedBesideAnother({ times: 1 });
  });

  it('keeps everything acknowledged and nothing rejected over two kills and restarts', async () => {
    await killed({ times: 2 });
  });
});
