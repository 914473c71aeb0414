import assert from 'node:assert/strict';
import { SmallVolume } from '../support/faults/small-volume.js';
import { expectKept, Ledger } from '../support/load/ledger.js';
import { Client } from '../support/service.js';
import { until } from '../support/until.js';
import { type Fault, Site, whileWriting } from './fault.js';

const LONGEST_WISH = 255;

const EXPECTED = ['POST 201', 'POST 507', 'PATCH 204', 'PATCH 507', 'DELETE 204'];

/**
 * Another process takes the rest of a small volume while clients write, and gives it back. While there is no space, POST
 * returns 507, and reads and deletes work. Later POST works again.
 */
export const diskFull: Fault = ({ times, progress }) =>
  SmallVolume.use((volume) =>
    Site.use(async (site) => {
      const service = await site.start({}, { folder: volume.folder });
      const client = await Client.of(service);
      const ledger = new Ledger('wish', LONGEST_WISH);
      const more = async (answer: RegExp, count: number, orWhen = () => false): Promise<void> => {
        const enough = ledger.answered(answer) + count;
        await until(
          () => ledger.answered(answer) >= enough || orWhen(),
          () => `${count} more answers ${answer.source}, of ${JSON.stringify([...ledger.answers])}`,
        );
      };
      await whileWriting(service, ledger, async () => {
        for (let time = 1; time <= times; time++) {
          await more(/^POST 201$/, 50);
          volume.occupy();
          await more(/^POST 507$/, 200);
          await more(/^DELETE 204$/, 20, () => ledger.acknowledged.size === 0);
          assert.equal((await client.get('/cookies')).status, 200);
          const last = [...ledger.acknowledged].at(-1);
          if (last !== undefined) assert.ok([200, 404].includes((await client.get(`/cookies/${last[1]}`)).status));
          volume.giveBack();
          await more(/^POST 201$/, 50);
          progress?.(
            `full ${time}/${times}: ${ledger.answered(/^POST 507$/)} of ${ledger.answered(/^POST/)} POSTs refused`,
          );
        }
      });
      const surprises = [...ledger.answers.keys()].filter((answer) => !EXPECTED.includes(answer));
      assert.deepEqual(
        surprises,
        [],
        `on a full disk only POST and PATCH may be refused: ${JSON.stringify([...ledger.answers])}`,
      );
      assert.equal(await service.end(), 0);
      return expectKept(volume.folder, ledger);
    }),
  );
