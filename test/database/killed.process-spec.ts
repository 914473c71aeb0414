import { killed, killedBesideAnother } from '../faults/killed.js';

describe('a process killed under load', () => {
  it('takes nothing acknowledged with it, and another process on the file goes on', async () => {
    await killedBesideAnother({ times: 1 });
  });

  it('keeps everything acknowledged and nothing rejected over two kills and restarts', async () => {
    await killed({ times: 2 });
  });
});
