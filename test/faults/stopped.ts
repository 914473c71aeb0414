import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expectKept, Ledger, writeUntil } from '../support/load/ledger.js';
import { type Fault, LONGEST_LOAD, Site, untilWritten } from './fault.js';

const CLIENTS = 16;

/**
 * The process gets a signal to stop while clients write. All clients get a response and learn that the connection ends.
 * One file without a WAL remains.
 */
export const stopped =
  (signal: NodeJS.Signals = 'SIGTERM'): Fault =>
  ({ times }) =>
    Site.use(async (site) => {
      const ledger = new Ledger();
      for (let time = 1; time <= times; time++) {
        const service = await site.start();
        const load = writeUntil(AbortSignal.timeout(LONGEST_LOAD), service, ledger, CLIENTS);
        await untilWritten(ledger, 100 + 200 * Math.random());
        const code = service.end(signal);
        assert.equal(await load, CLIENTS, 'not every client was told that its connection ends');
        assert.equal(await code, 0);
        assert.equal(ledger.answered(/unknown/), 0, 'requests were cut off');
        assert.equal(existsSync(join(site.folder, 'cookies.sqlite-wal')), false, 'the WAL was left behind');
        expectKept(site.folder, ledger);
      }
      return expectKept(site.folder, ledger);
    });
