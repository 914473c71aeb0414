import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import { Client, COOKIE, temporaryFolder } from '../support/service.js';
import { canLimitFileSize, limitFileSize } from '../support/faults/file-size-limit.js';
import { canRunAsOrdinaryUser, ORDINARY_USER } from '../support/ordinary-user.js';
import { ServiceProcess } from '../support/service-process.js';

let folder: string;
let file: string;
let processes: ServiceProcess[];

beforeEach(() => {
  folder = temporaryFolder();
  chmodSync(folder, 0o755);
  file = join(folder, 'cookies.sqlite');
  processes = [];
});

afterEach(async () => {
  await Promise.all(processes.map((service) => service.end('SIGKILL')));
  chmodSync(folder, 0o755);
  rmSync(folder, { recursive: true, force: true });
});

async function started(): Promise<ServiceProcess> {
  const service = await ServiceProcess.start(folder);
  processes.push(service);
  return service;
}

const asOrdinaryUser = canRunAsOrdinaryUser() ? it : it.skip;

describe('a database file that cannot be used', () => {
  const expectRefusal = async (service: ServiceProcess, fault: RegExp, named = file): Promise<void> => {
    processes.push(service);
    expect(await service.exit()).toBe(1);
    expect(service.output).toContain(named);
    expect(service.output).toMatch(fault);
    expect(service.output).not.toMatch(/^ +at /m);
  };

  const makeDatabase = (): void => {
    const database = openDatabase(file);
    database.exec('CREATE TABLE things (name); CREATE INDEX by_name ON things (name)');
    const insert = database.prepare('INSERT INTO things VALUES (?)');
    for (let row = 0; row < 200; row++) insert.run('x'.repeat(200) + row);
    database.close();
  };

  const overwriteFrom = (position: number): void => {
    const descriptor = openSync(file, 'r+');
    writeSync(descriptor, Buffer.alloc(statSync(file).size - position, 'garbage'), 0, undefined, position);
    closeSync(descriptor);
  };

  it('stops the start when it is not a database', async () => {
    writeFileSync(file, 'This is a shopping list, not a database.\n'.repeat(200));
    await expectRefusal(ServiceProcess.spawn(folder), /is not a SQLite database/);
  });

  it('stops the start when behind its header there is garbage', async () => {
    makeDatabase();
    overwriteFrom(100);
    await expectRefusal(ServiceProcess.spawn(folder), /is corrupt; restore it from a backup/);
  });

  it('stops the start when behind its first page there is garbage', async () => {
    expect(await (await started()).end()).toBe(0);
    overwriteFrom(4096);
    await expectRefusal(ServiceProcess.spawn(folder), /corrupt/i);
  });

  it('stops the start when it is a folder', async () => {
    mkdirSync(file);
    await expectRefusal(ServiceProcess.spawn(folder), /cannot be opened|is a folder/);
  });

  it('stops the start when another connection has locked it for longer than DATABASE_BUSY_TIMEOUT', async () => {
    makeDatabase();
    const other = openDatabase(file);
    try {
      other.exec('BEGIN EXCLUSIVE');
      await expectRefusal(
        ServiceProcess.spawn(folder, { DATABASE_BUSY_TIMEOUT: '300' }),
        /is locked by another process/,
      );
    } finally {
      other.close();
    }
  });

  asOrdinaryUser('stops the start when it is read-only', async () => {
    makeDatabase();
    chmodSync(file, 0o444);
    chmodSync(folder, 0o555);
    await expectRefusal(ServiceProcess.spawn(folder, {}, ORDINARY_USER), /is read-only/);
  });

  asOrdinaryUser('stops the start when its folder may not be written', async () => {
    chmodSync(folder, 0o555);
    await expectRefusal(ServiceProcess.spawn(folder, {}, ORDINARY_USER), /cannot be opened.*may write there/);
  });

  asOrdinaryUser('stops the start when its folder is missing and may not be made', async () => {
    chmodSync(folder, 0o555);
    const missing = join(folder, 'missing', 'cookies.sqlite');
    await expectRefusal(
      ServiceProcess.spawn(folder, { DATABASE_URL: `sqlite:${missing}` }, ORDINARY_USER),
      /permission denied|may write there/,
      missing,
    );
  });

  it('starts once the lock is freed in time', async () => {
    makeDatabase();
    const other = openDatabase(file);
    other.exec('BEGIN EXCLUSIVE');
    const starting = started();
    await sleep(1500);
    other.close();
    expect((await (await Client.of(await starting)).post(COOKIE)).status).toBe(201);
  });
});

describe('a database file that is taken away while the service runs', () => {
  it.each([
    ['the file is removed', () => rmSync(file)],
    ['the file is moved', () => renameSync(file, join(folder, 'elsewhere.sqlite'))],
    ['its WAL is removed', () => rmSync(`${file}-wal`)],
    [
      'another file takes its place',
      () => {
        copyFileSync(file, join(folder, 'copy.sqlite'));
        renameSync(join(folder, 'copy.sqlite'), file);
      },
    ],
  ])('acknowledges nothing any more when %s', async (_what, takeAway) => {
    const service = await started();
    const client = await Client.of(service);
    expect((await client.post(COOKIE)).status).toBe(201);
    takeAway();
    const answers = [await client.post(COOKIE), await client.get('/cookies/1'), await client.get('/cookies')];
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503]);
    expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(503);
    expect((await fetch(`${service.managementUrl}/health/live`)).status).toBe(200);
    expect(service.output).toMatch(/removed or replaced while the service ran; restart the service/);
  });
});

describe('a COMMIT that fails with an I/O error', () => {
  const where = canLimitFileSize ? it : it.skip;

  where('makes POST 503 OUTCOME_UNKNOWN without Retry-After, and the service goes on afterwards', async () => {
    const service = await started();
    const client = await Client.of(service);
    expect((await client.post(COOKIE)).status).toBe(201);
    // Less than the service has written to its WAL.
    limitFileSize(service, 4096);
    const failed = await client.post({ ...COOKIE, wish: 'in doubt' });
    limitFileSize(service, 'unlimited');
    expect([failed.status, failed.body.errorCode]).toEqual([503, 'OUTCOME_UNKNOWN']);
    expect(failed.headers.get('retry-after')).toBeNull();
    expect((await client.post(COOKIE)).status).toBe(201);
    await service.end();
    expect(service.output).toMatch(
      new RegExp(`The outcome of a change is unknown: .*request ${failed.body.requestId}, POST /cookies`),
    );
    const database = openDatabase(file, { readonly: true });
    expect(database.prepare('SELECT count(*) FROM cookies WHERE wish = ?').pluck().get('in doubt')).toBeLessThan(2);
    database.close();
  });
});
