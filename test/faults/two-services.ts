import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { expectKept, Ledger, writeUntil } from '../support/load/ledger.js';
import { type Answer, Client, COOKIE } from '../support/service.js';
import type { ServiceProcess } from '../support/service-process.js';
import { type Fault, Site, whileLoaded } from './fault.js';

const SECONDS = 60;

/** Clients of each service. */
const CLIENTS = 8;

/** Longest pause of a process in milliseconds; longer than the default time-out for its lock. */
const LONGEST_PAUSE = 6000;

/** Events of a process. Each resolves to the process that serves afterwards. */
const HAPPENINGS: Readonly<Record<string, (service: ServiceProcess, site: Site) => Promise<ServiceProcess>>> = {
  killed: async (service, site) => {
    await service.end('SIGKILL');
    return site.start();
  },
  stopped: async (service, site) => {
    assert.equal(await service.end('SIGTERM'), 0);
    return site.start();
  },
  paused: async (service) => {
    service.child.kill('SIGSTOP');
    await sleep(LONGEST_PAUSE * Math.random());
    service.child.kill('SIGCONT');
    return service;
  },
};

/**
 * One of two services on one file is killed, stopped or paused while clients write to both. Each service sees the
 * changes and rejections of the other.
 */
export const twoServices: Fault = ({ seconds = SECONDS }) =>
  Site.use(async (site) => {
    const ledger = new Ledger();
    const across = new Across();
    const pair = [await site.start(), await site.start()] as [ServiceProcess, ServiceProcess];
    const deadline = performance.now() + seconds * 1000;
    const times = Object.fromEntries(Object.keys(HAPPENINGS).map((name) => [name, 0]));
    for (let round = 0; performance.now() < deadline; round++) {
      const [name, happening] = Object.entries(HAPPENINGS)[Math.floor(3 * Math.random())]!;
      const [one, other] = pair;
      const load = (signal: AbortSignal): Promise<unknown> =>
        Promise.all([
          ...[one, other].map((service) => writeUntil(signal, service, ledger, CLIENTS)),
          across.lookUntil(signal, one, other),
          across.lookUntil(signal, other, one),
        ]);
      await whileLoaded(load, async () => {
        await sleep(300 + 700 * Math.random());
        pair[round % 2] = await happening(pair[round % 2]!, site);
        await sleep(300);
      });
      times[name]! += 1;
      expectKept(site.folder, ledger);
    }
    assert.ok(across.looks > 0, 'nothing was looked at through the other service');
    for (const service of pair) assert.equal(await service.end(), 0);
    return { ...times, looks: across.looks, ...expectKept(site.folder, ledger) };
  });

/** Checks the writes of one service through the other. */
class Across {
  looks = 0;
  private cookies = 0;

  async lookUntil(signal: AbortSignal, one: ServiceProcess, other: ServiceProcess): Promise<void> {
    const [writer, reader] = [Client.of(one), Client.of(other)];
    while (!signal.aborted && !one.hasEnded && !other.hasEnded) {
      try {
        await this.look(writer, reader);
        this.looks += 1;
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        // The connection has broken, or the service is unavailable: there is no result to check.
        await sleep(20);
      }
    }
  }

  private async look(writer: Client, reader: Client): Promise<void> {
    this.cookies += 1;
    const created = settled(await writer.post({ ...COOKIE, wish: `across ${this.cookies}` }));
    assert.equal(created.status, 201);
    const path = `/cookies/${created.body.id}`;
    const etag = created.headers.get('etag')!;
    const found = settled(await reader.get(path));
    assert.deepEqual([found.status, found.headers.get('etag')], [200, etag], 'a POST that was acknowledged');
    const headers = { 'if-match': etag };
    const changes = await Promise.all(
      ['medium', 'large'].map((size) => writer.request('PATCH', path, { body: { size }, headers })),
    );
    const statuses = changes.map((change) => settled(change).status).sort();
    assert.deepEqual(statuses, [204, 412], 'two changes on one condition');
    const changed = settled(await reader.get(path));
    assert.notEqual(changed.headers.get('etag'), etag, 'the other ETag that a 412 speaks of');
    assert.equal(settled(await reader.request('DELETE', path)).status, 204);
    assert.equal(settled(await writer.get(path)).status, 404, 'a DELETE that was acknowledged');
  }
}

/** @throws for a response without a known result */
function settled(answer: Answer): Answer {
  if (answer.status === 503) throw new Error(answer.text);
  return answer;
}
