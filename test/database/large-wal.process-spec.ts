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
  client = await Client.of(service);
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
  const database = openDatabase(file());
  database.pragma('synchronous = OFF');
  database.exec('CREATE TABLE IF NOT EXISTS ballast (bytes BLOB)');
  for (let written = 0; written < LARGE; written++) {
    database.exec(`INSERT INTO ballast VALUES (zeroblob(${MEGABYTE}))`);
  }
  database.close();
}

/** Starts a process that keeps a snapshot of the current state open until it is killed. */
async function readElsewhere(): Promise<void> {
  const module = new URL('../../dist/src/database/sqlite/better-sqlite3.js', import.meta.url).href;
  const script = `
    const { openDatabase } = await import(${JSON.stringify(module)});
    const database = openDatabase(${JSON.stringify(file())});
    database.exec('BEGIN');
    database.prepare('SELECT count(*) FROM cookies').get();
    process.stdout.write('reads');
    // Named here, so that garbage collection does not close it.
    setInterval(() => database.open, 1000);`;
  other = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(other.stdout!, 'data');
}

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
