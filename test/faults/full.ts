import assert from 'node:assert/strict';
import { expectKept, Ledger } from '../support/load/ledger.js';
import { Client, type Endpoint } from '../support/service.js';
import { SmallVolume } from '../support/faults/small-volume.js';
import { type Fault, type Run, Site, untilAnswered, whileWriting } from './fault.js';

const LONGEST_WISH = 255;

/** Another process takes the rest of a small volume while clients write, and gives it back. */
export const diskFull: Fault = async (run) => {
  using volume = new SmallVolume();
  return await Site.use(async (site) => {
    const service = await site.start({}, { folder: volume.folder });
    const ledger = new Ledger('wish', LONGEST_WISH);
    await writeThroughFull(service, ledger, volume, run);
    assert.equal(await service.end(), 0);
    return expectKept(volume.folder, ledger);
  });
};

/** While there is no space, POST returns 507, and reads and deletes work. Later POST works again. */
async function writeThroughFull(service: Endpoint, ledger: Ledger, volume: SmallVolume, { times }: Run): Promise<void> {
  const client = Client.of(service);
  await whileWriting(service, ledger, async () => {
    for (let time = 1; time <= times; time++) {
      await untilAnswered(ledger, /^POST 201$/, 50);
      volume.occupy();
      await untilAnswered(ledger, /^POST 507$/, 200);
      await untilAnswered(ledger, /^DELETE 204$/, 20, () => ledger.acknowledged.size === 0);
      assert.equal((await client.get('/cookies')).status, 200);
      const last = [...ledger.acknowledged].at(-1);
      if (last !== undefined) assert.ok([200, 404].includes((await client.get(`/cookies/${last[1]}`)).status));
      volume.giveBack();
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
