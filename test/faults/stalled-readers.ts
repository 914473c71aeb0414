import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import { expectKept, Ledger } from '../support/load/ledger.js';
import { Client } from '../support/service.js';
import type { ServiceProcess } from '../support/service-process.js';
import { StallingClient } from '../support/faults/stalling-client.js';
import { type Fault, Site, whileWriting } from './fault.js';
import { residentMegabytes } from './process-figures.js';

const READERS = 70;
const RECORDS = 200_000;
const CLIENTS = 4;
/** Seconds in which disconnected readers return. The service allows a pause of 30. */
const STALLED_SECONDS = 45;
/** Maximum memory of all readers in MB: some pages of the list, the buffers of a socket, and SQLite's cache for each. */
const LARGEST_MEMORY = READERS * 4;
/**
 * Without a limit the WAL grows by some MB a second. Above 128 MB the readers are disconnected, and commits continue
 * until then. In MB.
 */
const LARGEST_WAL = 144;
/** Largest WAL without readers, in MB. */
const LARGEST_WAL_LEFT = 16;

/**
 * Clients request a long list and read nothing of it, again and again. Others write and list and must not notice. When
 * the readers are gone, their resources must be free.
 */
export const stalledReaders: Fault = ({ times }) =>
  Site.use(async (site) => {
    await (await site.start()).end();
    storePastTheService(site.folder, RECORDS);
    const ledger = new Ledger();
    const worst = { memory: 0, wal: 0, walLeft: 0, listMilliseconds: 0, listsRefused: 0 };
    for (let time = 1; time <= times; time++) {
      const service = await site.start();
      const client = await Client.of(service);
      await client.get('/cookies?limit=1000');
      const memoryBefore = residentMegabytes(service.child.pid!);
      const readers: StallingClient[] = [];
      const stall = async (): Promise<void> => {
        for (let second = 0; second < STALLED_SECONDS; second++) {
          // Replaces a third of the readers at a time, so that their snapshots overlap.
          if (second % 10 === 0) await replaceThird(readers, service);
          const before = ledger.answered(/ 2\d\d$/);
          await sleep(1000);
          const began = performance.now();
          const { status } = await client.get('/cookies?limit=10&sort=-id');
          worst.listMilliseconds = Math.max(worst.listMilliseconds, Math.round(performance.now() - began));
          if (status !== 200) worst.listsRefused += 1;
          const [memory, wal] = [residentMegabytes(service.child.pid!), walOf(site.folder)];
          worst.memory = Math.max(worst.memory, memory - memoryBefore);
          worst.wal = Math.max(worst.wal, wal);
          const written = ledger.answered(/ 2\d\d$/) - before;
          assert.ok(written > 0, `no write was answered in second ${second}`);
        }
        for (const reader of readers) reader.leave();
        await sleep(5000);
      };
      await whileWriting(service, ledger, stall, CLIENTS);
      worst.walLeft = Math.max(worst.walLeft, walOf(site.folder));
      assert.equal(ledger.answered(/ ([345]\d\d|unknown)/), 0, 'writers were refused');
      assert.equal((await client.get('/cookies?limit=10')).status, 200);
      assert.equal(await service.end(), 0);
    }
    const counts = expectKept(site.folder, ledger);
    const broken = [
      worst.listsRefused > 0 && 'other lists were refused',
      worst.memory > LARGEST_MEMORY && 'the readers take too much memory',
      worst.wal > LARGEST_WAL && 'the WAL grows without end',
      worst.walLeft > LARGEST_WAL_LEFT && 'the WAL keeps its size',
    ].filter(Boolean);
    assert.deepEqual(broken, [], `${broken.join(', ')}: ${JSON.stringify({ ...counts, ...worst })}`);
    return { ...counts, ...worst };
  });

/** Replaces the readers that have waited longest, if there are enough. */
async function replaceThird(readers: StallingClient[], service: ServiceProcess): Promise<void> {
  const third = Math.ceil(READERS / 3);
  for (const reader of readers.splice(0, readers.length + third - READERS)) reader.leave();
  readers.push(...(await Promise.all(Array.from({ length: third }, () => StallingClient.get(service)))));
}

/** Stores cookies without the service, because the service would take minutes. */
export function storePastTheService(folder: string, count: number, wish = 'stored '): void {
  const database = openDatabase(join(folder, 'cookies.sqlite'));
  database.exec(`
    WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ${count})
    INSERT INTO cookies (flavor, size, wish) SELECT 'cinnamon', 'small', '${wish}' || number FROM numbers`);
  database.close();
}

/** Size of the WAL in MB. */
function walOf(folder: string): number {
  const bytes = statSync(join(folder, 'cookies.sqlite-wal'), { throwIfNoEntry: false })?.size ?? 0;
  return Math.ceil(bytes / 1024 ** 2);
}
