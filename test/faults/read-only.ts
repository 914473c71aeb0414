import assert from 'node:assert/strict';
import { chmodSync, chownSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expectKept, Ledger } from '../support/load/ledger.js';
import { Client } from '../support/service.js';
import { ORDINARY_USER } from '../support/ordinary-user.js';
import { type Fault, Site, untilAnswered, untilWritten, whileWriting } from './fault.js';

/** File and folder become read-only while clients write. Acknowledged writes are stored. */
export const fileReadOnly: Fault = ({ times }) =>
  Site.use(async (site) => {
    const { folder } = site;
    if (ORDINARY_USER.uid !== undefined) chownSync(folder, ORDINARY_USER.uid, ORDINARY_USER.uid);
    const ledger = new Ledger();
    for (let time = 1; time <= times; time++) {
      const service = await site.start({}, ORDINARY_USER);
      const client = Client.of(service);
      await whileWriting(service, ledger, async () => {
        await untilWritten(ledger, 200);
        setWritable(folder, false);
        await untilAnswered(ledger, /./, 2000);
        assert.ok([200, 503].includes((await client.get('/cookies')).status));
      });
      assert.equal(await service.end(), 0);
      const unexpected = [...ledger.answers.keys()].filter((answer) => !/ (201|204|503)$/.test(answer));
      assert.deepEqual(unexpected, []);
      expectKept(folder, ledger);
      setWritable(folder, true);
    }
    return expectKept(folder, ledger);
  });

function setWritable(folder: string, writable: boolean): void {
  if (writable) chmodSync(folder, 0o755);
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), writable ? 0o644 : 0o444);
  if (!writable) chmodSync(folder, 0o555);
}
