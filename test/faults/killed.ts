import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { expectKept, Ledger, storedIn, writeUntil } from '../support/load/ledger.js';
import { Client, COOKIE } from '../support/service.js';
import { until } from '../support/until.js';
import { type Fault, LONGEST_LOAD, Site, untilWritten, whileWriting } from './fault.js';

/** The process gets SIGKILL while clients write, and is started again. */
export const killed: Fault = ({ times, progress }) =>
  Site.use(async (site) => {
    const ledger = new Ledger();
    for (let time = 1; time <= times; time++) {
      const service = await site.start();
      const client = await Client.of(service);
      const refusal = { ...COOKIE, size: 'tiny', wish: ledger.nextWish() };
      ledger.note(refusal.wish, await client.post(refusal));
      const before = ledger.acknowledged.size;
      const load = writeUntil(AbortSignal.timeout(LONGEST_LOAD), service, ledger);
      // A random moment, perhaps within a commit or a checkpoint.
      await sleep(200 + 500 * Math.random());
      await until(
        () => ledger.acknowledged.size > before,
        () => 'the load has stored nothing',
      );
      await service.end('SIGKILL');
      await load;
      const { acknowledged, unknown, rows } = expectKept(site.folder, ledger);
      progress?.(`killed ${time}/${times}: ${acknowledged} acknowledged, ${unknown} unknown, ${rows} rows`);
    }
    assert.equal(ledger.refused.size, times);
    const service = await site.start();
    const { body } = await (await Client.of(service)).get('/cookies');
    assert.equal(body.length, storedIn(site.folder).used);
    assert.equal(await service.end(), 0);
    return expectKept(site.folder, ledger);
  });

/** One of two processes that write one file gets SIGKILL and is started again. The other process must not notice. */
export const killedBesideAnother: Fault = ({ times, progress }) =>
  Site.use(async (site) => {
    const ledger = new Ledger();
    const other = await site.start();
    for (let time = 1; time <= times; time++) {
      const service = await site.start();
      const survivors = new Ledger(`other ${time}`);
      await whileWriting(other, survivors, async () => {
        const load = writeUntil(AbortSignal.timeout(LONGEST_LOAD), service, ledger);
        await sleep(500 + 500 * Math.random());
        await untilWritten(survivors, 1);
        await service.end('SIGKILL');
        await load;
        await untilWritten(survivors, 1);
      });
      assert.equal(survivors.answered(/unknown| [345]\d\d/), 0, 'clients of the other process have noticed');
      expectKept(site.folder, survivors);
      ledger.add(survivors);
      const { acknowledged, unknown, rows } = expectKept(site.folder, ledger);
      progress?.(
        `killed beside another ${time}/${times}: ${acknowledged} acknowledged, ${unknown} unknown, ${rows} rows`,
      );
    }
    assert.ok(ledger.answered(/unknown/) > 0, 'no request was cut off');
    assert.equal(await other.end(), 0);
    return expectKept(site.folder, ledger);
  });
