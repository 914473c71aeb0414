import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import { sqliteChangeLog } from '../fuzz/change-log.js';
import { LogBook } from '../fuzz/log-book.js';
import { lastWords } from '../fuzz/service-under-test.js';
import { token } from '../support/service.js';
import type { ServiceProcess } from '../support/service-process.js';
import { type Attack, ATTACKS } from './attacks.js';
import type { Orders } from './attackers.js';
import { type Fault, Site } from './fault.js';
import { type Experience, GoodClient } from './good-client.js';
import { type AttackResult, brokenBounds, lineOf } from './hostile-bounds.js';
import { memoryLimit } from './memory-limit.js';
import { openDescriptors, peakMegabytes, residentMegabytes } from './process-figures.js';

const ATTACKERS = 50;
const SECONDS = 60;
const CONTAINER_MEGABYTES = 512;
/** Seconds in which memory and descriptors must be released. */
const RECOVERY_SECONDS = 60;

/**
 * Each attack on a new service with the memory of a small container: fifty clients attack, and a good client from
 * another address must not notice.
 */
export const hostileClients: Fault = async ({ seconds = SECONDS, attacks = [], report }) => {
  const chosen = ATTACKS.filter(({ name }) => attacks.length === 0 || attacks.includes(name));
  if (chosen.length === 0) throw new Error(`The attacks are ${ATTACKS.map(({ name }) => name).join(', ')}`);
  const results: AttackResult[] = [];
  for (const attack of chosen) {
    const result = await Site.use((site) => suffer(site, attack, seconds));
    results.push(result);
    report?.(lineOf(result));
  }
  const broken = results.filter((result) => brokenBounds(result).length > 0);
  if (broken.length > 0) throw new Error(`${broken.map(({ name }) => name).join(', ')}: a bound is broken`);
  return { attacks: results.length, seconds };
};

async function suffer(site: Site, attack: Attack, seconds: number): Promise<AttackResult> {
  if (attack.records !== undefined) {
    await (await site.start()).end();
    storePastTheService(site.folder, attack.records, attack.wish);
  }
  const limit = memoryLimit(CONTAINER_MEGABYTES);
  const service = await site.start({ DOCS: 'true', ...attack.environment, ...limit.environment }, limit.options);
  const watch = new Watch(
    service,
    attack,
    new GoodClient(service.url, await token({ subject: 'good' }), attack.othersList),
    site.folder,
  );
  try {
    return await watch.during(seconds);
  } finally {
    watch.end();
    await service.end('SIGKILL');
    limit.remove();
  }
}

/** Stores cookies without the service, because the service would take minutes. */
function storePastTheService(folder: string, count: number, wish = 'stored '): void {
  using database = openDatabase(join(folder, 'cookies.sqlite'));
  database.exec(`
    WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ${count})
    INSERT INTO cookies (flavor, size, wish) SELECT 'cinnamon', 'small', '${wish}' || number FROM numbers`);
}

/** Measures before, during and after one attack. */
class Watch {
  private readonly log: LogBook;
  private readonly pid: number;
  private readonly ending = new AbortController();
  private notReady = 0;
  private peak = NaN;
  /** Memory at the end of the attack. */
  private heldMegabytes = NaN;
  private attackers?: ChildProcess;

  constructor(
    private readonly service: ServiceProcess,
    private readonly attack: Attack,
    private readonly good: GoodClient,
    private readonly folder: string,
  ) {
    this.log = new LogBook(service);
    this.pid = service.child.pid!;
  }

  async during(seconds: number): Promise<AttackResult> {
    const { service, pid, attack, log } = this;
    const changes = sqliteChangeLog(this.folder);
    // The first requests of a process are slow even without an attack.
    await this.use(3);
    const quiet = await this.use(Math.max(10, seconds / 4));
    const [startMegabytes, startDescriptors] = [residentMegabytes(pid), this.descriptors()];
    if (attack.stallsLog) service.child.stdout!.pause();
    const readiness = this.askReadiness();
    const began = performance.now();
    let diedAfter = NaN;
    service.child.once('exit', () => (diedAfter = (performance.now() - began) / 1000));
    const [underAttack, sent] = await Promise.all([this.use(seconds), this.attackFor(seconds), this.weigh(seconds)]);
    if (attack.stallsLog) service.child.stdout!.resume();
    const after = await this.recover(startMegabytes, startDescriptors);
    this.ending.abort();
    await readiness;
    const isAlive = !service.hasEnded;
    if (isAlive) await log.settle();
    const ids = attack.stallsLog ? [] : [...quiet.ids, ...underAttack.ids];
    const written = (await changes.after(0)).filter(({ operation }) => operation === 'insert');
    const hostile = written.map(({ wish }) => /^of (a\S+)$/.exec(wish)?.[1]).filter((id) => id !== undefined);
    return {
      name: attack.name,
      death: isAlive ? undefined : `after ${diedAfter.toFixed(1)} s: ${lastWords(service)}`,
      notReady: this.notReady,
      quiet,
      underAttack,
      startMegabytes,
      peakMegabytes: this.peak,
      heldMegabytes: this.heldMegabytes,
      bounds: attack.bounds ?? {},
      endMegabytes: after.megabytes,
      startDescriptors,
      endDescriptors: after.descriptors,
      databaseDescriptors: openDescriptors(pid) - this.descriptors(),
      sent,
      requestLines: log.count,
      withoutLine: isAlive ? [...ids, ...hostile].filter((id) => log.of(id).length !== 1).length : 0,
    };
  }

  end(): void {
    this.ending.abort();
    this.good.close();
    this.attackers?.kill('SIGKILL');
  }

  private async use(seconds: number): Promise<Experience> {
    const ended = new AbortController();
    const end = (): void => ended.abort();
    // Not `AbortSignal.any` with a time-out, which the garbage collector of Node 20 may collect early.
    const timer = setTimeout(end, seconds * 1000);
    this.service.child.once('exit', end);
    try {
      return await this.good.use(ended.signal);
    } finally {
      clearTimeout(timer);
      this.service.child.off('exit', end);
    }
  }

  private async attackFor(seconds: number): Promise<Record<string, number>> {
    const { port } = new URL(this.service.url);
    const { name, attackers = ATTACKERS, addresses } = this.attack;
    const subjects = addresses === undefined ? 1 : attackers;
    const bearers = await Promise.all(
      Array.from({ length: subjects }, (_, index) => token({ subject: `attacker ${index}` })),
    );
    const orders: Orders = { attack: name, port: Number(port), bearers, seconds, attackers };
    const child = fork(new URL('./attackers.js', import.meta.url), [JSON.stringify(orders)]);
    this.attackers = child;
    let counts: Record<string, number> = {};
    child.on('message', (message) => (counts = message as Record<string, number>));
    this.service.child.once('exit', () => child.kill('SIGKILL'));
    await once(child, 'exit');
    return counts;
  }

  /** Measures the memory one second before the end of the attack. */
  private async weigh(seconds: number): Promise<void> {
    await sleep((seconds - 1) * 1000);
    this.heldMegabytes = residentMegabytes(this.pid);
  }

  /** Checks readiness and memory all the time. A service that has died is reported. */
  private async askReadiness(): Promise<void> {
    while (!this.ending.signal.aborted && !this.service.hasEnded) {
      this.peak = peakMegabytes(this.pid) || this.peak;
      const response = await fetch(`${this.service.managementUrl}/health/ready`, {
        signal: AbortSignal.timeout(2000),
      }).catch(() => undefined);
      if (response?.status !== 200 && !this.service.hasEnded) this.notReady += 1;
      await response?.arrayBuffer().catch(() => {});
      await sleep(250);
    }
  }

  /** Uses the service until its memory and its descriptors are as before the attack, for at most a minute. */
  private async recover(
    startMegabytes: number,
    startDescriptors: number,
  ): Promise<{ megabytes: number; descriptors: number }> {
    // Closes the connections that the good client needed while it waited. Its next request opens one again.
    this.good.close();
    for (let second = 0; second < RECOVERY_SECONDS && !this.service.hasEnded; second += 2) {
      await this.use(2);
      const isBack = residentMegabytes(this.pid) <= 1.2 * startMegabytes;
      if (isBack && Math.abs(this.descriptors() - startDescriptors) <= 5) break;
    }
    return { megabytes: residentMegabytes(this.pid), descriptors: this.descriptors() };
  }

  /** Open descriptors except those of the database file and its WAL, of which idle readers keep some. */
  private descriptors(): number {
    const file = join(this.folder, 'cookies.sqlite');
    return openDescriptors(this.pid, [file, `${file}-wal`]);
  }
}
