import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Counts, expectKeptIn, Ledger, storedOn, sumOf } from '../support/load/ledger.js';
import { onServer, PostgresServer } from '../support/postgres/postgres-server.js';
import { type Fault, Site, untilWritten, whileWriting } from './fault.js';

/** Acknowledged writes between two faults. */
const SOME = 100;

/** The server and its sessions get SIGKILL while clients write, and it is started again. */
export const postgresKilled: Fault = ({ times }) =>
  Site.use(async (site) => {
    await using server = await PostgresServer.create();
    const ledger = new Ledger();
    const service = await site.start({ DATABASE_URL: server.url() });
    await whileWriting(service, ledger, async () => {
      for (let time = 1; time <= times; time++) {
        await untilWritten(ledger, SOME);
        await sleep(200 * Math.random());
        await server.crash();
        await sleep(500);
        await server.start();
        await untilWritten(ledger, 1);
      }
      await untilWritten(ledger, SOME);
    });
    assert.equal(ledger.answered(/unknown| 500$/), 0, 'answers other than 503 came meanwhile');
    assert.ok(ledger.answered(/ 503/) >= times, 'nobody has noticed');
    const connections = await onServer(server.url(), async (client) => {
      const { rowCount } = await client.query(`SELECT 1 FROM pg_stat_activity WHERE application_name = 'cookies'`);
      return rowCount ?? 0;
    });
    assert.ok(connections <= 19, `${connections} connections were left`);
    return expectKeptIn(await storedOn(server.url()), ledger);
  });

/** The primary gets SIGKILL while clients write, and its synchronous standby is promoted. */
export const standbyPromoted: Fault = async ({ times }) => {
  const all: Counts[] = [];
  for (let time = 1; time <= times; time++) {
    all.push(await promoteOnce());
  }
  return sumOf(all);
};

function promoteOnce(): Promise<Counts> {
  return Site.use(async (site) => {
    await using primary = await PostgresServer.create();
    await using standby = await primary.makeStandby();
    const url = primary.url().replace(/@[^/]+/, `@127.0.0.1:${primary.port},127.0.0.1:${standby.port}`);
    const service = await site.start({ DATABASE_URL: `${url}?target_session_attrs=read-write` });
    const ledger = new Ledger();
    await whileWriting(service, ledger, async () => {
      await untilWritten(ledger, SOME);
      await primary.crash();
      await sleep(500);
      await onServer(standby.url(), (client) => client.query('SELECT pg_promote()'));
      await untilWritten(ledger, SOME);
    });
    assert.equal(ledger.answered(/unknown| 500$/), 0, 'answers other than 503 came meanwhile');
    return expectKeptIn(await storedOn(standby.url()), ledger);
  });
}
