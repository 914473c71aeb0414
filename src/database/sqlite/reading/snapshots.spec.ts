import { join } from 'node:path';
import { temporaryFolder } from '../../../../test/support/temporary-folder.js';
import { openDatabase } from '../better-sqlite3.js';
import { Snapshots } from './snapshots.js';

it('a snapshot that has met a lock for DATABASE_BUSY_TIMEOUT gives its connection back: after 90 of them, all 80 can be opened', async () => {
  const path = join(temporaryFolder(), 'locked.sqlite');
  // Without a WAL, a lock keeps readers out, too.
  using other = openDatabase(path);
  other.exec('CREATE TABLE things (name)');
  const snapshots = new Snapshots(path, 30);
  other.exec('BEGIN EXCLUSIVE');
  for (let batch = 0; batch < 9; batch++) {
    const attempts = Array.from({ length: 10 }, () => snapshots.begin());
    for (const attempt of await Promise.allSettled(attempts)) {
      expect(attempt).toMatchObject({ reason: { message: expect.stringMatching(/locked/) } });
    }
  }
  other.exec('ROLLBACK');
  const open = await Promise.all(Array.from({ length: 80 }, () => snapshots.begin()));
  await expect(snapshots.begin()).rejects.toThrow('80 snapshots are open');
  for (const transaction of open) transaction.end();
  snapshots.close();
});
