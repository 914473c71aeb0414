import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expectKept, Ledger, postUntil, storedIn } from './load.js';
import { Client, COOKIE, temporaryFolder } from './service.js';
import { ServiceProcess } from './service-process.js';

let folder: string;
let processes: ServiceProcess[];

beforeEach(() => {
  folder = temporaryFolder();
  processes = [];
});

afterEach(async () => {
  await Promise.all(processes.map((service) => service.end('SIGKILL')));
  rmSync(folder, { recursive: true, force: true });
});

async function started(): Promise<ServiceProcess> {
  const service = await ServiceProcess.start(folder);
  processes.push(service);
  return service;
}

describe('a process killed under load', () => {
  it('takes nothing acknowledged with it, and another process on the file goes on', async () => {
    const [killed, other] = [await started(), await started()];
    const ledgers = [new Ledger('killed'), new Ledger('other')] as const;
    const stopping = new AbortController();
    const loads = [postUntil(stopping.signal, killed, ledgers[0]), postUntil(stopping.signal, other, ledgers[1])];
    await sleep(1000);
    await killed.end('SIGKILL');
    const atDeath = ledgers[1].acknowledged.size;
    await sleep(1000);
    stopping.abort();
    await Promise.all(loads);
    expect(ledgers[0].acknowledged.size).toBeGreaterThan(0);
    expect(ledgers[0].unanswered.size).toBeGreaterThan(0);
    expect(ledgers[1].acknowledged.size).toBeGreaterThan(atDeath);
    expect(ledgers[1].unanswered.size + ledgers[1].refused.size).toBe(0);
    for (const ledger of ledgers) expectKept(folder, ledger);
    expect(await other.end()).toBe(0);
  });

  it('keeps everything acknowledged and nothing refused over five kills and restarts', async () => {
    const ledger = new Ledger();
    for (let round = 0; round < 5; round++) {
      const service = await started();
      const refusal = { ...COOKIE, size: 'tiny', wish: ledger.nextWish() };
      ledger.note(refusal.wish, await (await Client.of(service)).post(refusal));
      const before = ledger.acknowledged.size;
      const load = postUntil(AbortSignal.timeout(10_000), service, ledger);
      await sleep(300 + 100 * round);
      await service.end('SIGKILL');
      await load;
      expect(ledger.acknowledged.size).toBeGreaterThan(before);
      expect(ledger.refused.size).toBe(round + 1);
      expectKept(folder, ledger);
    }
    const service = await started();
    expect((await (await Client.of(service)).get('/cookies')).body).toHaveLength(storedIn(folder).used);
    expect(await service.end()).toBe(0);
    expectKept(folder, ledger);
  });
});
