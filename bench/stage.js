import { Buffer } from 'node:buffer';
import { createSecretKey, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { SignJWT } from 'jose';
import { fillPostgres, PostgresDatabases } from './postgres.js';
import { Program } from './program.js';
import { fillSqlite } from './records.js';

/** The programs under test and their databases, each made at first use. */
export class Stage {
  folder = mkdtempSync(join(tmpdir(), 'bench-'));
  secret = randomBytes(32).toString('base64url');
  programs = new Map();

  /** @param progress receives lines of text */
  constructor(progress) {
    this.progress = progress;
    for (const signal of ['SIGINT', 'SIGTERM']) {
      process.once(signal, () => void this.close().then(() => process.exit(130)));
    }
  }

  async makeToken() {
    this.token = await new SignJWT({ scope: 'cookies:read cookies:write' })
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject('bench')
      .setExpirationTime('1d')
      .sign(createSecretKey(Buffer.from(this.secret)));
  }

  emptyFolder() {
    return mkdtempSync(join(this.folder, 'empty-'));
  }

  /** Starts a variant on a new database with this number of records. */
  async start(variant, records, engine = 'sqlite') {
    const folder = this.emptyFolder();
    const file = join(folder, 'cookies.sqlite');
    if (engine === 'postgres') this.postgres ??= await PostgresDatabases.open();
    const url = engine === 'postgres' ? await this.postgres.create() : `sqlite:${file}`;
    if (records > 0) {
      // The variant makes its tables when it starts.
      const maker = await Program.start(variant, folder, this.secret, url);
      await maker.stop();
      if (engine === 'postgres') await fillPostgres(url, records);
      else fillSqlite(file, records);
    }
    return Program.start(variant, folder, this.secret, url);
  }

  /** The running program of a lane. Lanes with equal variant, records and engine share it. */
  async program({ variant, records, engine }) {
    const key = keyOf({ variant, records, engine });
    if (!this.programs.has(key)) this.programs.set(key, await this.start(variant, records, engine));
    return this.programs.get(key);
  }

  /** Stops the programs that these lanes do not need. */
  async keepOnly(lanes) {
    const needed = new Set(lanes.map(keyOf));
    for (const [key, program] of this.programs) {
      if (needed.has(key)) continue;
      await program.stop();
      this.programs.delete(key);
    }
  }

  async close() {
    await this.keepOnly([]);
    await this.postgres?.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function keyOf({ variant, records, engine = 'sqlite' }) {
  return `${variant.name} ${engine} ${records}`;
}
