import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { Environment } from '../../src/config/config.js';
import { untilWritten } from '../faults/fault.js';
import { outcomeOf, startCommand } from '../support/command.js';
import { createDatabase, describeEngines } from '../support/engine.js';
import { expectKeptIn, type Stored, storedIn, storedOn } from '../support/load/ledger.js';
import { Load } from '../support/load/load.js';
import { freePort } from '../support/postgres/postgres-server.js';
import { revertMigrations, unpackRelease } from '../support/project/released.js';
import { Client, COOKIE, temporaryFolder } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';

const ROOT = join(import.meta.dirname, '../..');
/** Cookies that exist before the load, and that the load does not change. */
const OLD_COOKIES = 20;

interface Read {
  /** The cookies stored before the load, as JSON. */
  readonly oldCookies: string;
  readonly all: string;
}

async function readBy(service: ServiceProcess): Promise<Read> {
  const client = Client.of(service);
  const oldCookies = await client.get(`/cookies?limit=${OLD_COOKIES}`);
  return { oldCookies: oldCookies.text, all: (await client.get('/cookies')).text };
}

describeEngines('an upgrade from the last release, under load,', (engine) => {
  let released: string;
  let folder: string;
  let environment: Environment;
  const running: ServiceProcess[] = [];

  beforeAll(async () => {
    // TypeORM logs each migration that is reverted in this process.
    Logger.overrideLogger(false);
    released = await unpackRelease();
  });

  beforeEach(async () => {
    folder = temporaryFolder();
    const url = `sqlite:${join(folder, 'cookies.sqlite')}`;
    environment = { DATABASE_URL: engine === 'sqlite' ? url : await createDatabase(`upgrade_${process.pid}`) };
  });

  afterEach(() => Promise.all(running.splice(0).map((service) => service.end('SIGKILL'))));

  async function start(project: string, more: Environment = {}): Promise<ServiceProcess> {
    const service = await ServiceProcess.start(folder, { ...environment, ...more }, { project });
    running.push(service);
    return service;
  }

  const stored = (): Promise<Stored> | Stored =>
    engine === 'sqlite' ? storedIn(folder) : storedOn(environment['DATABASE_URL']!);

  async function makeOldCookies(service: ServiceProcess): Promise<Read> {
    const client = Client.of(service);
    for (let id = 1; id <= OLD_COOKIES; id++) {
      expect((await client.post({ ...COOKIE, wish: `old ${id}` })).body.id).toBe(id);
    }
    return readBy(service);
  }

  /** Goes back to the last release as docs/operating.md says, and upgrades again. */
  async function expectWayBack(service: ServiceProcess, migrations: readonly string[]): Promise<void> {
    const before = await readBy(service);
    expect(await service.end()).toBe(0);
    if (migrations.length > 0) {
      const rejected = ServiceProcess.spawn(folder, environment, { project: released });
      expect(await rejected.exit()).toBe(1);
      const newestFirst = migrations.toReversed().join(', ');
      expect(rejected.output).toContain(`the migrations ${newestFirst}, which this version does not know`);
    }
    await revertMigrations(folder, environment, migrations.length);
    const old = await start(released);
    expect(await readBy(old)).toEqual(before);
    const { status, body } = await Client.of(old).post(COOKIE);
    expect({ status, isNew: body.id > (await stored()).count }).toEqual({ status: 201, isNew: true });
    const after = await readBy(old);
    expect(await old.end()).toBe(0);
    expect(await readBy(await start(ROOT))).toEqual(after);
  }

  const ranMigrations = (output: string): string[] =>
    /Ran the migrations ([^"]+)"/.exec(output)?.[1]!.split(', ') ?? [];

  if (engine === 'sqlite')
    it('of one process keeps every record while its clients retry, and so does the rollback', async () => {
      const port = { PORT: String(await freePort()) };
      const old = await start(released, port);
      const { oldCookies } = await makeOldCookies(old);
      const load = new Load([{ url: old.url }]);
      await untilWritten(load.ledger, 100);
      expect(await old.end()).toBe(0);
      const service = await start(ROOT, port);
      await untilWritten(load.ledger, 100);
      await load.end();
      expectKeptIn(await stored(), load.ledger);
      expect(await readBy(service)).toMatchObject({ oldCookies });
      await expectWayBack(service, ranMigrations(service.output));
    });
  else
    it('of two replicas fails no request and keeps every record, and so does the rollback', async () => {
      const olds = [await start(released), await start(released)];
      const { oldCookies } = await makeOldCookies(olds[0]!);
      const load = new Load(olds);
      await untilWritten(load.ledger, 100);
      const migrate = startCommand(folder, ['migrate', '--check-capacity'], { ...environment, LOG_LEVEL: 'info' });
      const { code, stdout } = await outcomeOf(migrate);
      expect(code).toBe(0);
      await untilWritten(load.ledger, 100);
      for (const old of olds) {
        load.services.push(await start(ROOT, { MIGRATE_ON_START: 'false' }));
        load.services.shift();
        await sleep(50);
        expect(await old.end()).toBe(0);
        await untilWritten(load.ledger, 100);
      }
      await load.end();
      expect(load.ledger.answered(/ (unknown|[345]\d\d|503 OUTCOME_UNKNOWN)$/)).toBe(0);
      expectKeptIn(await stored(), load.ledger);
      const [, , one, other] = running;
      expect(await readBy(one!)).toMatchObject({ oldCookies });
      expect(await one!.end()).toBe(0);
      await expectWayBack(other!, ranMigrations(stdout));
    });
});
