import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../../src/config/config.js';
import {
  type Counts,
  expectKept,
  expectKeptIn,
  Ledger,
  type Stored,
  storedIn,
  storedOn,
} from '../support/load/ledger.js';
import { PostgresServer } from '../support/postgres/postgres-server.js';
import { Client, COOKIE } from '../support/service.js';
import { type Fault, type Run, Site, untilWritten, whileWriting } from './fault.js';

/** Acknowledged writes around a kill. */
const SOME = 100;

/** The process gets SIGKILL while clients write, and is started again. */
export const killed: Fault = ({ times }) =>
  Site.use(async (site) => {
    const ledger = new Ledger();
    for (let time = 1; time <= times; time++) {
      const service = await site.start();
      const client = Client.of(service);
      const refusal = { ...COOKIE, size: 'tiny', wish: ledger.nextWish() };
      ledger.note(refusal.wish, await client.post(refusal));
      await whileWriting(service, ledger, async () => {
        // A random moment, perhaps within a commit or a checkpoint.
        await sleep(200 + 500 * Math.random());
        await untilWritten(ledger, 1);
        await service.end('SIGKILL');
      });
      expectKept(site.folder, ledger);
    }
    assert.equal(ledger.refused.size, times);
    const service = await site.start();
    const { body } = await Client.of(service).get('/cookies');
    assert.equal(body.length, storedIn(site.folder).used);
    assert.equal(await service.end(), 0);
    return expectKept(site.folder, ledger);
  });

/** One of two processes that write one file gets SIGKILL and is started again. The other process must not notice. */
export const killedBesideAnother: Fault = (run) =>
  Site.use((site) => killBesideAnother(site, {}, () => storedIn(site.folder), run));

/** Like `killedBesideAnother`, with two replicas on PostgreSQL. */
export const replicaKilled: Fault = (run) =>
  Site.use(async (site) => {
    await using server = await PostgresServer.create();
    return await killBesideAnother(site, { DATABASE_URL: server.url() }, () => storedOn(server.url()), run);
  });

async function killBesideAnother(
  site: Site,
  environment: Environment,
  stored: () => Stored | Promise<Stored>,
  { times }: Run,
): Promise<Counts> {
  const [ledger, survivors] = [new Ledger('killed'), new Ledger('other')];
  const other = await site.start(environment);
  for (let time = 1; time <= times; time++) {
    const service = await site.start(environment);
    await whileWriting(other, survivors, async () => {
      await whileWriting(service, ledger, async () => {
        await untilWritten(ledger, SOME);
        await sleep(500 * Math.random());
        await service.end('SIGKILL');
      });
      await untilWritten(survivors, SOME);
    });
    assert.equal(survivors.answered(/unknown| [345]\d\d/), 0, 'clients of the other process have noticed');
    expectKeptIn(await stored(), survivors);
    expectKeptIn(await stored(), ledger);
  }
  assert.ok(ledger.answered(/unknown/) > 0, 'no request was cut off');
  assert.equal(await other.end(), 0);
  ledger.add(survivors);
  return expectKeptIn(await stored(), ledger);
}
