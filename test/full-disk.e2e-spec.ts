import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { DataSource } from 'typeorm';
import { expectKept, Ledger, storedIn } from './load.js';
import { Client, COOKIE, startService, temporaryFolder } from './service.js';
import { ServiceProcess } from './service-process.js';

const LONGEST_WISH = 255;
/** Bytes of the volume that gets full. */
const VOLUME = 512 * 1024;

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

async function started(where = folder): Promise<ServiceProcess> {
  const service = await ServiceProcess.start(where);
  processes.push(service);
  return service;
}

/** Posts the longest cookies, a few at a time, until the service has refused 20 of them in a row. */
async function fill(client: Client, ledger: Ledger): Promise<void> {
  for (let refusals = 0, posts = 0; refusals < 20; posts++) {
    if (posts > 5000) throw new Error('The storage does not get full');
    const statuses = await Promise.all(Array.from({ length: 4 }, () => postLongest(client, ledger)));
    refusals = statuses.includes(201) ? 0 : refusals + statuses.length;
  }
}

async function postLongest(client: Client, ledger: Ledger): Promise<number> {
  const wish = ledger.nextWish().padEnd(LONGEST_WISH, '.');
  const answer = await client.post({ ...COOKIE, wish });
  ledger.note(wish, answer);
  if (answer.status !== 201) {
    expect(answer.status).toBe(507);
    expect(answer.body).toMatchObject({ message: 'Storage is full', errorCode: 'STORAGE_FULL' });
    expect(answer.headers.has('retry-after')).toBe(false);
  }
  return answer.status;
}

async function expectReads(client: Client, { acknowledged }: Ledger): Promise<void> {
  const list = await client.get('/cookies');
  expect(list.status).toBe(200);
  expect(list.body.map(({ id }: { id: number }) => id)).toEqual([...acknowledged.values()].sort((a, b) => a - b));
  const [[wish, id] = ['', 0]] = acknowledged;
  expect((await client.get(`/cookies/${id}`)).body.wish).toBe(wish);
}

/** Deletes the oldest `count` of what is stored. */
async function deleteOldest(client: Client, { acknowledged }: Ledger, count: number): Promise<void> {
  for (const [wish, id] of [...acknowledged].slice(0, count)) {
    expect((await client.request('DELETE', `/cookies/${id}`)).status).toBe(204);
    acknowledged.delete(wish);
  }
}

const mountable = mayMount();
const onSmallVolume = mountable ? it : it.skip;
const skipped = mountable ? '' : ' (skipped: this user may not mount a volume)';

describe('a full disk', () => {
  let volume: string;

  beforeEach(() => {
    volume = join(folder, 'volume');
    mkdirSync(volume);
    if (mountable) mount(volume);
  });

  afterEach(async () => {
    await Promise.all(processes.map((service) => service.end('SIGKILL')));
    if (mountable) unmount(volume);
  });

  onSmallVolume(
    `refuses POST with 507, reads and deletes go on, and deletes make room for new cookies${skipped}`,
    async () => {
      const service = await started(volume);
      const client = await Client.of(service);
      const ledger = new Ledger();
      await fill(client, ledger);
      const stored = ledger.acknowledged.size;
      expect(stored).toBeGreaterThan(100);
      await expectReads(client, ledger);
      expect((await fetch(`${service.managementUrl}/health/live`)).status).toBe(200);
      await deleteOldest(client, ledger, Math.floor(stored / 2));
      await expectReads(client, ledger);
      const before = ledger.acknowledged.size;
      await fill(client, ledger);
      expect(ledger.acknowledged.size).toBeGreaterThan(before + stored / 4);
      await deleteOldest(client, ledger, Infinity);
      expect((await client.post(COOKIE)).status).toBe(201);
      ledger.acknowledged.set(COOKIE.wish, (await client.get('/cookies')).body[0].id);
      expect(await service.end()).toBe(0);
      expectKept(volume, ledger);
    },
  );

  onSmallVolume(`goes on when someone else filled the disk and gave the room back${skipped}`, async () => {
    const service = await started(volume);
    const client = await Client.of(service);
    const ledger = new Ledger();
    for (let stored = 0; stored < 50; stored++) expect(await postLongest(client, ledger)).toBe(201);
    const ballast = join(volume, 'ballast');
    occupy(ballast, VOLUME);
    await fill(client, ledger);
    await expectReads(client, ledger);
    const [, id] = [...ledger.acknowledged].at(-1)!;
    const change = await client.request('PATCH', `/cookies/${id}`, { body: { size: 'large' } });
    expect([204, 507]).toContain(change.status);
    await deleteOldest(client, ledger, 30);
    rmSync(ballast);
    for (let stored = 0; stored < 50; stored++) expect(await postLongest(client, ledger)).toBe(201);
    await expectReads(client, ledger);
    expect(await service.end()).toBe(0);
    expectKept(volume, ledger);
  });

  onSmallVolume(
    `loses nothing when the process is killed on a full disk and started again on it${skipped}`,
    async () => {
      const ledger = new Ledger();
      const killed = await started(volume);
      await fill(await Client.of(killed), ledger);
      await killed.end('SIGKILL');
      const service = await started(volume);
      const client = await Client.of(service);
      await expectReads(client, ledger);
      await deleteOldest(client, ledger, 50);
      expect(await service.end()).toBe(0);
      expectKept(volume, ledger);
    },
  );

  it('is 507 as well where SQLite itself sets the limit; reads and deletes go on, and POST when there is room', async () => {
    const service = await startService({ COOKIES_CAPACITY: '1000000' });
    try {
      const client = await Client.of(service);
      const ledger = new Ledger();
      const database = (service.app.get(DataSource).driver as unknown as { databaseConnection: Database.Database })
        .databaseConnection;
      const pages = database.pragma('page_count', { simple: true }) as number;
      database.pragma(`max_page_count = ${pages + 30}`);
      await fill(client, ledger);
      expect(ledger.acknowledged.size).toBeGreaterThan(100);
      await expectReads(client, ledger);
      await deleteOldest(client, ledger, 50);
      const before = ledger.acknowledged.size;
      await fill(client, ledger);
      expect(ledger.acknowledged.size).toBeGreaterThan(before);
      database.pragma('max_page_count = 4294967294');
      for (let posts = 0; posts < 100; posts++) expect((await client.post(COOKIE)).status).toBe(201);
      const { used, wishes, integrity } = storedIn(service.folder);
      expect(integrity).toBe('ok');
      expect([...ledger.acknowledged.keys()].filter((wish) => !wishes.has(wish))).toEqual([]);
      expect(used).toBe(ledger.acknowledged.size + 100);
    } finally {
      await service.stop();
    }
  });
});

function mount(path: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${VOLUME}`, 'tmpfs', path], { stdio: 'ignore' });
}

function unmount(path: string): void {
  execFileSync('umount', ['-l', path], { stdio: 'ignore' });
}

function mayMount(): boolean {
  const path = temporaryFolder();
  try {
    mount(path);
    unmount(path);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
}

/** Writes a file until the volume has no room left. */
function occupy(path: string, limit: number): void {
  const descriptor = openSync(path, 'w');
  try {
    for (let written = 0; written < limit;) written += writeSync(descriptor, Buffer.alloc(4096, 'x'));
  } catch (error) {
    expect(error).toMatchObject({ code: 'ENOSPC' });
  } finally {
    closeSync(descriptor);
  }
}
