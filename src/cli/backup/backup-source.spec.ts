import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { receiveBackup } from './backup-source.js';

it('a backup that changes while it is read is rejected', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'backup');
  writeFileSync(file, Buffer.alloc(10_000_000));
  // The copy is the second file of the folder.
  const changing = setInterval(() => utimesSync(file, 0, readdirSync(folder).length), 1);
  const received = receiveBackup(file, join(folder, 'copy'), new AbortController().signal);
  await expect(received.finally(() => clearInterval(changing))).rejects.toThrow('was changed while it was read');
});
