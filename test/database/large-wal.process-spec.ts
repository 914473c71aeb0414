import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { openSnapshot, type Snapshot } from '../../src/database/engine.js';
import { openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import { Client, COOKIE, type Service, startService } from '../support/service.js';

const MEGABYTE = 1024 * 1024;
const LARGE = 129;

let service: Service;
let client: Client;
let other: ChildProcess | undefined;

beforeEach(async () => {
  service = await startService({ LOG_LEVEL: 'silent' });
  client = Client.of(service);
});

afterEach(async () => {
  other?.kill('SIGKILL');
  other = undefined;
  await service.stop();
});

const file = (): string => join(service.folder, 'cookies.sqlite');
const walMegabytes = (): number => statSync(`${file()}-wal`).size / MEGABYTE;
const snapshot = (): Promise<Snapshot> => openSnapshot(service.app.get(DataSource));
const read = (from: Snapshot): Promise<unknown> => from.query('SELECT count(*) FROM cookies', []);

async function write(): Promise<void> {
  // For longer than the size of the WAL is cached.
  for (let written = 0; written < 6; written++) {
    expect((await client.post(COOKIE)).status).toBe(201);
    await sleep(50);
  }
}

/** Grows the WAL without the service, which would need a minute. */
function growWal(): void {
  using database = openDatabase(file());
  database.pragma('synchronous = OFF');
  database.exec('CREATE TABLE IF NOT EXISTS ballast (bytes BLOB)');
  for (let written = 0; written < LARGE; written++) {
    database.exec(`INSERT INTO ballast VALUES (zeroblob(${MEGABYTE}))`);
  }
}

/** Starts a process that runs a program with the open `database`, and waits for its first output. */
async function runElsewhere(program: string): Promise<void> {
  const module = new URL('../../dist/src/database/sqlite/better-sqlite3.js', import.meta.url).href;
  const script = `
    const { openDatabase } = await import(${JSON.stringify(module)});
    const database = openDatabase(${JSON.stringify(file())});
    ${program}`;
  other = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(other.stdout!, 'data');
}

/** Starts a process that keeps a snapshot of the current state open until it is killed. */
const readElsewhere = (): Promise<void> =>
  runElsewhere(`
    database.exec('BEGIN');
    database.prepare('SELECT count(*) FROM cookies').get();
    process.stdout.write('reads');
    // Named here, so that garbage collection does not close it.
    setInterval(() => database.open, 1000);`);

/** Starts a process that writes 6 MB in each transaction, and checkpoints after it, as the shell of SQLite does. */
const writeElsewhere = (): Promise<void> =>
  runElsewhere(`
    database.exec('PRAGMA synchronous = OFF; CREATE TABLE ballast (bytes BLOB)');
    process.stdout.write('writes');
    for (let written = 0; written < 20; written++) {
      database.exec(\`
        WITH RECURSIVE numbers(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM numbers WHERE id < 1500)
        INSERT INTO ballast SELECT randomblob(4000) FROM numbers\`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }`);

describe('a write-ahead log that has grown too large', () => {
  it('ends the lists that keep it from restarting, and becomes small', async () => {
    const old = await snapshot();
    await read(old);
    growWal();
    expect(walMegabytes()).toBeGreaterThan(LARGE - 1);
    await write();
    await expect(read(old)).rejects.toThrow('The list was read too slowly');
    expect(walMegabytes()).toBeLessThan(17);
    const young = await snapshot();
    await write();
    await expect(read(young)).resolves.toBeDefined();
    young.close();
  });

  it('leaves a small reserve on the disk after a stop', async () => {
    await read(await snapshot());
    growWal();
    expect(walMegabytes()).toBeGreaterThan(LARGE - 1);
    await service.app.close();
    expect(statSync(`${file()}-reserve`).size / MEGABYTE).toBeLessThan(17);
  });

  it('ends no more lists of the service while another process reads an old state, which the log says', async () => {
    const old = await snapshot();
    await read(old);
    growWal();
    await write();
    await readElsewhere();
    growWal();
    const warn = jest.spyOn(Logger.prototype, 'warn');
    await write();
    expect(warn).toHaveBeenCalledWith(expect.stringMatching(/another process keeps it from restarting/));
    expect(walMegabytes()).toBeGreaterThan(LARGE - 1);
    const list = await snapshot();
    await read(list);
    await write();
    await expect(read(list)).resolves.toBeDefined();
    list.close();
  });
});

it('a checkpoint of another process loses no page while the service makes the file longer', async () => {
  const dataSource = service.app.get(DataSource);
  await writeElsewhere();
  while (other?.exitCode === null) await dataSource.query('INSERT INTO ballast VALUES (randomblob(40000))');
  using database = openDatabase(file());
  expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
});
