import assert from 'node:assert/strict';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../../src/config/config.js';
import { run as runCommand } from '../support/command.js';
import { SmallVolume } from '../support/faults/small-volume.js';
import { expectKeptIn, type Stored, storedIn, storedOn } from '../support/load/ledger.js';
import { Load } from '../support/load/load.js';
import { serverFolder } from '../support/postgres/postgres-programs.js';
import { freePort, onServer, PostgresServer } from '../support/postgres/postgres-server.js';
import { revertMigrations, unpackRelease } from '../support/project/released.js';
import { COOKIE, environmentIn, temporaryFolder, token } from '../support/service.js';
import type { ServiceProcess } from '../support/service-process.js';
import { type Fault, type Run, Site } from './fault.js';
import { GoodClient } from './good-client.js';
import { type Address, Balancer, Watchman } from './year-watch.js';

/** Milliseconds of load after each event, in which alerts appear and end. */
const QUIET = 8000;
const ROOT = process.cwd();
/** Bytes: more free space than the threshold of the alert for a full volume. */
const VOLUME = 320 * 1024 * 1024;
const NEXT_SECRET = 'kT9vQ2mX7bN4cR8wL1pZ6dF3hJ5sG0yA';

/** A year of operation under load, on SQLite with one process or two workers. */
export const yearOnSqlite =
  (workers: number): Fault =>
  async (run) => {
    using volume = new SmallVolume(VOLUME);
    return await Site.use(async (site) => {
      const year = await Year.begin(site, volume.folder, [{ WORKERS: String(workers) }], run);
      await year.upgradeAndBack();
      await year.backUpAndRestore();
      await year.changeSettings();
      await year.changeSecret();
      const fires = ['DatabaseVolumeFull', 'WritesRejected'];
      await year.event('a full volume, then space', () => fillForSomeSeconds(volume), { fires });
      return year.end(() => storedIn(volume.folder));
    });
  };

/** A year of operation under load, on PostgreSQL with a standby, with two replicas behind HAProxy. */
export const yearOfCluster: Fault = async (run) => {
  using volume = new SmallVolume(VOLUME, serverFolder());
  return await Site.use((site) => yearOn(site, volume, run));
};

async function yearOn(site: Site, volume: SmallVolume, run: Run): Promise<Record<string, number | string>> {
  const servers: PostgresServer[] = [];
  try {
    const primary = await PostgresServer.create({ max_wal_size: '64MB' }, volume.folder);
    servers.push(primary);
    const standby = await primary.makeStandby();
    servers.push(standby);
    const hosts = `@127.0.0.1:${primary.port},127.0.0.1:${standby.port}`;
    const url = `${primary.url().replace(/@[^/]+/, hosts)}?target_session_attrs=read-write`;
    const replica = { DATABASE_URL: url, SHUTDOWN_DELAY: '3' };
    const year = await Year.begin(site, site.folder, [replica, replica], run);
    await year.upgradeAndBack();
    await year.exportAndImport();
    await year.changeSettings();
    await year.changeSecret();
    await year.event('a full volume of the primary, then space', async () => {
      await fillForSomeSeconds(volume);
      // A PostgreSQL server ends when its volume has no space for the WAL; its operator starts it again.
      await primary.start();
    });
    await year.event('failover of the primary', async () => {
      await primary.crash();
      await sleep(500);
      await onServer(standby.url(), (client) => client.query('SELECT pg_promote()'));
    });
    return await year.end(() => storedOn(standby.url()));
  } finally {
    const [primary, standby] = servers;
    await standby?.remove();
    // The folder of the primary is removed with its volume.
    await primary?.stop('SIGQUIT');
  }
}

async function fillForSomeSeconds(volume: SmallVolume): Promise<void> {
  volume.occupy(VOLUME);
  await sleep(QUIET);
  volume.giveBack();
}

/** The documented promises for an event. */
interface Promised {
  readonly failsNothing?: boolean;
  /** Alerts that fire. */
  readonly fires?: readonly string[];
  /** Alerts that do not fire. */
  readonly silent?: readonly string[];
}

interface Replica {
  readonly environment: Environment;
  service?: ServiceProcess;
}

class Year {
  readonly load: Load;
  private readonly good: GoodClient;

  private constructor(
    private readonly site: Site,
    private readonly folder: string,
    private readonly replicas: readonly Replica[],
    private readonly watchman: Watchman,
    private readonly balancer: Balancer | undefined,
    private readonly run: Run,
    private readonly released: string,
    bearer: string,
  ) {
    const url = balancer?.url ?? `http://127.0.0.1:${replicas[0]!.environment['PORT']}`;
    this.load = new Load([{ url }]);
    this.good = new GoodClient(url, bearer);
  }

  /** Starts the replicas of the last release, Prometheus with the rules, and the load. */
  static async begin(site: Site, folder: string, environments: readonly Environment[], run: Run): Promise<Year> {
    const replicas: Replica[] = [];
    const addresses: Address[] = [];
    for (const environment of environments) {
      const [port, managementPort] = [String(await freePort()), String(await freePort())];
      const ports = { PORT: port, MANAGEMENT_PORT: managementPort };
      replicas.push({ environment: { COOKIES_CAPACITY: '1000000', ...environment, ...ports } });
      addresses.push({ port, managementPort });
    }
    const watchman = await Watchman.start(addresses);
    const balancer = replicas.length > 1 ? await Balancer.start(addresses) : undefined;
    const released = await unpackRelease();
    const year = new Year(site, folder, replicas, watchman, balancer, run, released, await token({ subject: 'good' }));
    for (const replica of replicas) await year.start(replica, year.released);
    // Prometheus has not scraped any replica yet.
    await sleep(3000);
    await year.event('nothing', () => sleep(QUIET), { failsNothing: true, silent: ['ConnectionsRunOut'] });
    return year;
  }

  /** Runs the work under load, reports the results of clients and alerts, and compares them with the promises. */
  async event(
    name: string,
    work: () => Promise<unknown>,
    { failsNothing = false, fires = [], silent = [] }: Promised = {},
  ): Promise<void> {
    const { ledger } = this.load;
    const before = new Map(ledger.answers);
    const [began, from] = [performance.now(), Date.now()];
    const ending = new AbortController();
    const experience = this.good.use(ending.signal);
    try {
      await work();
    } finally {
      await sleep(QUIET);
      ending.abort();
    }
    const { requests, failed, firstFailure, p99 } = await experience;
    const kinds = [...ledger.answers].map(([kind, times]) => [kind, times - (before.get(kind) ?? 0)] as const);
    const writes = kinds.reduce((sum, [, times]) => sum + times, 0);
    const wrong = kinds.filter(([kind, times]) => times > 0 && !/ 2\d\d$/.test(kind));
    const alerts = await this.watchman.firing(from);
    this.run.report?.(
      [
        name,
        `${((performance.now() - began) / 1000).toFixed(0)} s`,
        `${writes} writes`,
        wrong.map(([kind, times]) => `${times} ${kind}`).join(', ') || 'none failed',
        `honest client ${failed} of ${requests} failed${firstFailure ? ` (${firstFailure})` : ''}, p99 ${p99.toFixed(0)} ms`,
        alerts.join(', ') || 'no alert',
      ].join(' | '),
    );
    assert.ok(!failsNothing || failed + wrong.length === 0, `${name}: requests failed`);
    const wrongAlerts = [
      ...fires.filter((alert) => !alerts.includes(alert)),
      ...silent.filter((alert) => alerts.includes(alert)),
    ];
    assert.deepEqual(wrongAlerts, [], `${name}: these alerts did not fire, or fired without need`);
  }

  async upgradeAndBack(): Promise<void> {
    const migrations = this.newMigrations;
    await this.event(`upgrade, ${migrations} migrations`, () => this.roll(), this.ofRoll);
    await this.event('back to the last release', async () => {
      for (const replica of this.replicas) await this.stop(replica);
      await revertMigrations(this.folder, this.replicas[0]!.environment, migrations);
      for (const replica of this.replicas) await this.start(replica, this.released);
    });
    await this.event('upgrade again', () => this.roll(), this.ofRoll);
  }

  backUpAndRestore(): Promise<void> {
    return this.copyElsewhere('backup, and a restore elsewhere', async (folder, environment) => {
      mkdirSync(join(folder, 'backups'));
      await this.cli(['backup', '--to', join(folder, 'backups'), '--gzip']);
      const [name] = readdirSync(join(folder, 'backups'));
      await this.cli(['restore', join(folder, 'backups', name!)], environment);
    });
  }

  exportAndImport(): Promise<void> {
    return this.copyElsewhere('export, and an import elsewhere', async (folder, environment) => {
      const file = join(folder, 'cookies.ndjson.gz');
      await this.cli(['export', 'cookies', '--output', file]);
      await this.cli(['import', 'cookies', file], environment);
    });
  }

  /** Copies the records to a SQLite database in another folder, and starts a service on it. */
  private async copyElsewhere(
    name: string,
    copy: (folder: string, environment: Environment) => Promise<void>,
  ): Promise<void> {
    const folder = temporaryFolder();
    const environment = { DATABASE_URL: `sqlite:${join(folder, 'cookies.sqlite')}` };
    const work = async (): Promise<void> => {
      await copy(folder, environment);
      await (await this.site.start(environment, { folder })).end();
    };
    await this.event(name, work, { failsNothing: true });
  }

  async changeSettings(): Promise<void> {
    const setForSomeSeconds = async (name: string, value: string): Promise<void> => {
      await this.cli(['set', `${name}=${value}`]);
      await sleep(QUIET);
      await this.cli(['set', '--unset', name]);
    };
    await this.event('maintenance for some seconds', () => setForSomeSeconds('MAINTENANCE', 'true'), {
      silent: ['RequestsFail'],
    });
    await this.event('full, then more capacity', () => setForSomeSeconds('COOKIES_CAPACITY', '10'), {
      fires: ['StorageAlmostFull', 'WritesRejected'],
    });
  }

  /** Replicas are replaced without a failed request. A single one rejects connections meanwhile. */
  private get ofRoll(): Promised {
    return { failsNothing: this.replicas.length > 1 };
  }

  /** Changes the secret; earlier tokens stay valid. */
  async changeSecret(): Promise<void> {
    const { JWT_SECRET } = environmentIn(this.folder);
    const secrets = { JWT_SECRET: NEXT_SECRET, JWT_SECRET_PREVIOUS: JWT_SECRET };
    await this.event('another secret', () => this.roll(secrets), this.ofRoll);
  }

  async end(read: () => Stored | Promise<Stored>): Promise<Record<string, number | string>> {
    await this.load.end();
    this.good.close();
    for (const replica of this.replicas) await this.stop(replica);
    await this.balancer?.end();
    await this.watchman.end();
    const stored = await read();
    // The good client always sends the same wish, and a restart may have prevented its DELETE.
    return {
      ...expectKeptIn({ ...stored, twice: stored.twice.filter((wish) => wish !== COOKIE.wish) }, this.load.ledger),
    };
  }

  private async start(replica: Replica, project: string, more: Environment = {}): Promise<void> {
    replica.service = await this.site.start({ ...replica.environment, ...more }, { folder: this.folder, project });
  }

  private async stop({ service }: Replica): Promise<void> {
    assert.equal(await service!.end(), 0);
  }

  /** Replaces the replicas one by one, as `deploy/roll.sh` does; a single one is restarted. */
  private async roll(more: Environment = {}): Promise<void> {
    for (const replica of this.replicas) {
      await this.stop(replica);
      await this.start(replica, ROOT, more);
      await this.balancer?.allUp();
    }
  }

  private async cli(args: readonly string[], more: Environment = {}): Promise<void> {
    const environment = { ...this.replicas[0]!.environment, ...more };
    const { code, stderr } = await runCommand(this.folder, args, { environment });
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
  }

  /** Counts the migrations that this version has and the last release has not. */
  private get newMigrations(): number {
    const count = (project: string) =>
      readdirSync(join(project, 'dist/migrations')).filter((name) => name.endsWith('.js')).length;
    return count(ROOT) - count(this.released);
  }
}
