import { Buffer } from 'node:buffer';
import { createSecretKey, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SignJWT } from 'jose';
import { Program } from './program.js';
import { fillJson, fillTables } from './records.js';
import { memory } from './usage.js';

/** The programs under test with their storages, each made when it is first needed. */
export class Stage {
  /** @param progress called with a line of text */
  constructor(progress) {
    this.progress = progress;
    this.folder = mkdtempSync(join(tmpdir(), 'bench-'));
    this.secret = randomBytes(32).toString('base64url');
    this.storages = new Set();
    this.programs = new Map();
    /** Memory in MB of programs that have been used and stopped: idle, after the load, at its highest. */
    this.memories = [];
  }

  async makeToken() {
    this.token = await new SignJWT({ scope: 'cookies:read cookies:write' })
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject('bench')
      .setExpirationTime('1d')
      .sign(createSecretKey(Buffer.from(this.secret)));
  }

  /** The folder of a variant's storage with so many records. */
  async storage(variant, records) {
    const folder = join(this.folder, `${variant.name}-${records}`);
    if (this.storages.has(folder)) return folder;
    mkdirSync(folder);
    if (variant.storage === 'json') fillJson(join(folder, 'cookies.json'), records);
    else {
      // Its own start makes the tables.
      const maker = await Program.start(variant, folder, this.secret);
      await maker.stop();
      await fillTables(join(folder, 'cookies.sqlite'), records, (stored) => {
        if (records >= 1_000_000 && stored % 1_000_000 === 0) {
          this.progress(`${variant.name}: ${stored} of ${records} records stored`);
        }
      });
    }
    this.storages.add(folder);
    return folder;
  }

  /** A folder of its own. */
  emptyFolder() {
    return mkdtempSync(join(this.folder, 'empty-'));
  }

  async start(variant, records) {
    return Program.start(variant, await this.storage(variant, records), this.secret);
  }

  /** The running program of a variant on so many records. */
  async program(variant, records) {
    const key = `${variant.name}-${records}`;
    if (!this.programs.has(key)) {
      const program = await this.start(variant, records);
      this.programs.set(key, program);
      await sleep(500);
      program.idle = memory(program.pid)?.now;
      program.records = records;
    }
    return this.programs.get(key);
  }

  /** Stops the programs that no lane needs any more. */
  async keepOnly(lanes) {
    const needed = new Set(lanes.map(({ variant, records }) => `${variant.name}-${records}`));
    for (const [key, program] of this.programs) {
      if (needed.has(key)) continue;
      const { now, peak } = memory(program.pid) ?? {};
      this.memories.push({ label: program.variant.name, records: program.records, idle: program.idle, now, peak });
      await program.stop();
      this.programs.delete(key);
    }
  }

  async close() {
    await Promise.all([...this.programs.values()].map((program) => program.stop()));
    rmSync(this.folder, { recursive: true, force: true });
  }
}
