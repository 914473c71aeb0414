import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../../src/config/config.js';
import { type Outcome, outcomeOf, run, startCommand } from '../command.js';
import { temporaryFolder } from '../service.js';
import { preloaded, projectModule } from './preloaded.js';

/** A fault in one file call of a command. */
export interface FileFault {
  /** The call, as `FileCalls.list` names it. The fault comes just before it; after it for a copy. */
  readonly at: string;
  /** The call fails with EIO, or never ends; the copy is damaged, as by a bad disk; or the process gets a signal. */
  readonly what: 'EIO' | 'hangs' | 'damaged' | 'SIGHUP' | 'SIGINT' | 'SIGTERM' | 'SIGKILL';
}

/**
 * Records the order in which a command copies, syncs and renames files. The result of a power failure depends on this
 * order.
 */
export class FileCalls {
  private readonly file = join(temporaryFolder(), 'calls');

  /** @param folder of the database */
  constructor(
    private readonly folder: string,
    private readonly fault?: FileFault,
  ) {}

  get environment(): Environment {
    return { ...preloaded(PROGRAM), FILE_CALLS: JSON.stringify({ notes: this.file, fault: this.fault }) };
  }

  /** Runs a command with the fault. A signal needs a process that may end. */
  run(args: readonly string[]): Promise<Outcome> {
    const { folder, environment } = this;
    if (this.fault?.what.startsWith('SIG')) return outcomeOf(startCommand(folder, args, environment));
    return run(folder, args, { environment });
  }

  /**
   * Calls such as "sync draft", "rename draft out" and "sync ." for the folder, without varying parts. A
   * rename is recorded when it begins, other calls when they are done.
   */
  list(): string[] {
    return existsSync(this.file) ? readFileSync(this.file, 'utf8').split('\n').slice(0, -1) : [];
  }
}

const PROGRAM = `
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  import { basename } from 'node:path';
  import { betterSqlite3 } from '${projectModule('dist/src/database/sqlite/better-sqlite3.js')}';

  const nameOf = (path) =>
    fs.statSync(path, { throwIfNoEntry: false })?.isDirectory()
      ? '.'
      : basename(path).replace(/before-[-\\dTZ]+/, 'before');
  // Each command of a host has its own settings.
  const settings = () => JSON.parse(process.env.FILE_CALLS);
  const note = (call) => fs.appendFileSync(settings().notes, call + '\\n');

  async function meet(call, path) {
    const { fault } = settings();
    if (fault?.at !== call) return;
    if (fault.what === 'EIO') throw Object.assign(new Error('EIO: i/o error, ' + call), { code: 'EIO' });
    if (fault.what === 'hangs') await new Promise(() => setInterval(() => {}, 1000));
    if (fault.what === 'damaged' && fs.existsSync(path)) damage(path);
    if (fault.what.startsWith('SIG')) await signal(fault.what);
  }

  /** The listeners of a signal run some turns of the event loop later. */
  async function signal(name) {
    const received = process.listenerCount(name) > 0 && new Promise((resolve) => process.once(name, resolve));
    const alive = setInterval(() => {}, 1000);
    process.kill(process.pid, name);
    await received;
    clearInterval(alive);
  }

  /** Damages the second page of a database file, its header included. */
  function damage(path) {
    const descriptor = fs.openSync(path, 'r+');
    fs.writeSync(descriptor, Buffer.alloc(3000, 0x5a), 0, 3000, 4096);
    fs.closeSync(descriptor);
  }

  const { open, rename, link } = fs.promises;
  fs.promises.open = async (path, ...rest) => {
    const handle = await open(path, ...rest);
    const { sync } = handle;
    handle.sync = async () => {
      const call = 'sync ' + nameOf(path);
      await meet(call, path);
      await sync.call(handle);
      note(call);
    };
    return handle;
  };
  fs.promises.rename = async (from, to) => {
    const call = 'rename ' + nameOf(from) + ' ' + nameOf(to);
    note(call);
    await meet(call, to);
    await rename(from, to);
  };
  fs.promises.link = async (from, to) => {
    const call = 'link ' + nameOf(from) + ' ' + nameOf(to);
    await meet(call, to);
    await link(from, to);
    note(call);
  };
  const paths = new Map();
  const { open: openFile, close: closeFile } = fs;
  fs.open = (path, flags, mode, done) => {
    void meet('open ' + nameOf(String(path)), path);
    openFile(path, flags, mode, (error, descriptor) => {
      paths.set(descriptor, path);
      done(error, descriptor);
    });
  };
  fs.close = (descriptor, done) => {
    const path = paths.get(descriptor);
    if (path) void meet('close ' + nameOf(String(path)), path);
    closeFile(descriptor, done);
  };
  const { prototype } = betterSqlite3();
  const { backup } = prototype;
  prototype.backup = async function (to, options) {
    const result = await backup.call(this, to, options);
    note('copy ' + nameOf(to));
    await meet('copy ' + nameOf(to), to);
    return result;
  };
  syncBuiltinESMExports();`;
