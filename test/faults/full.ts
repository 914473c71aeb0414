import assert from 'node:assert/strict';
import { DataSource } from 'typeorm';
import type { Database } from '../../src/database/sqlite/better-sqlite3.js';
import { expectKept, Ledger } from '../support/load/ledger.js';
import { Client, startService } from '../support/service.js';
import { SmallVolume } from '../support/faults/small-volume.js';
import { type Fault, type Run, Site, untilAnswered, whileWriting } from './fault.js';

const LONGEST_WISH = 255;

interface Space {
  /** Takes the space that the clients need. */
  take(): void;
  giveBack(): void;
}

/** Another process takes the rest of a small volume while clients write, and gives it back. */
export const diskFull: Fault = (run) =>
  SmallVolume.use((volume) =>
    Site.use(async (site) => {
      const service = await site.start({}, { folder: volume.folder });
      const ledger = new Ledger('wish', LONGEST_WISH);
      const space = { take: () => volume.occupy(), giveBack: () => volume.giveBack() };
      await writeThroughFull(service, ledger, space, run);
      assert.equal(await service.end(), 0);
      return expectKept(volume.folder, ledger);
    }),
  );

/** The size limit of SQLite is set to the current size while clients write, and lifted. */
export const pagesFull: Fault = async (run) => {
  const service = await startService({ COOKIES_CAPACITY: '10000000' });
  try {
    // The limit belongs to a connection, here the writing one.
    const { databaseConnection } = service.app.get(DataSource).driver as unknown as {
      databaseConnection: Database;
    };
    const space = {
      take: () => databaseConnection.pragma('max_page_count = 1'),
      giveBack: () => databaseConnection.pragma('max_page_count = 4294967294'),
    };
    const ledger = new Ledger('wish', LONGEST_WISH);
    await writeThroughFull(service, ledger, space, run);
    return expectKept(service.folder, ledger);
  } finally {
    await service.stop();
  }
};

/** While there is no space, POST returns 507, and reads and deletes work. Later POST works again. */
async function writeThroughFull(
  service: { readonly url: string },
  ledger: Ledger,
  space: Space,
  { times }: Run,
): Promise<void> {
  const client = await Client.of(service);
  await whileWriting(service, ledger, async () => {
    for (let time = 1; time <= times; time++) {
      await untilAnswered(ledger, /^POST 201$/, 50);
      space.take();
      await untilAnswered(ledger, /^POST 507$/, 200);
      await untilAnswered(ledger, /^DELETE 204$/, 20, () => ledger.acknowledged.size === 0);
      assert.equal((await client.get('/cookies')).status, 200);
      const last = [...ledger.acknowledged].at(-1);
      if (last !== undefined) assert.ok([200, 404].includes((await client.get(`/cookies/${last[1]}`)).status));
      space.giveBack();
      await untilAnswered(ledger, /^POST 201$/, 50);
    }
  });
  const surprises = [...ledger.answers.keys()].filter((answer) => !EXPECTED.includes(answer));
  assert.deepEqual(
    surprises,
    [],
    `on a full disk only POST and PATCH may be refused: ${JSON.stringify([...ledger.answers])}`,
  );
}

const EXPECTED = ['POST 201', 'POST 507', 'PATCH 204', 'PATCH 507', 'DELETE 204'];
