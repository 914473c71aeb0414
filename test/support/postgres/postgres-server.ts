import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { ORDINARY_USER } from '../ordinary-user.ts';
import { giveToUser, type Programs, programsFor, serverFolder } from './postgres-programs.ts';

const FORMATS = {
  timezone: 'Asia/Kathmandu',
  datestyle: 'SQL, DMY',
  intervalstyle: 'sql_standard',
  extra_float_digits: '0',
};

const PASSWORD = 'secret of the tests';

/** A PostgreSQL server with its own data folder and process, which can be killed. */
export class PostgresServer {
  private child?: ChildProcess;
  output = '';

  private constructor(
    readonly folder: string,
    readonly port: number,
    private readonly programs: Programs,
  ) {}

  /** Creates and starts a server. Its sessions have a time zone and formats that no process of the tests has. */
  static async create(settings: Record<string, string> = {}, folder = serverFolder()): Promise<PostgresServer> {
    giveToUser(folder);
    try {
      const server = new PostgresServer(folder, await freePort(), await programsFor(folder));
      server.initialize();
      server.configure({ ...FORMATS, ...settings });
      await server.start();
      return server;
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  private initialize(): void {
    const passwordFile = join(this.folder, 'password');
    writeFileSync(passwordFile, PASSWORD);
    giveToUser(passwordFile);
    const names = ['-D', join(this.folder, 'data'), '-U', 'cookies', `--pwfile=${passwordFile}`];
    const made = spawnSync(
      this.programs.initdb,
      [...names, '-A', 'scram-sha-256', '-E', 'UTF8', '--locale=C', '--no-sync'],
      { ...ORDINARY_USER, env: {}, cwd: this.folder, encoding: 'utf8' },
    );
    if (made.status !== 0) throw new Error(`initdb failed: ${made.error?.message ?? made.stderr.trim()}`);
  }

  /** Starts a synchronous standby, which has every commit before the client learns of it. Restarts this server. */
  async makeStandby(): Promise<PostgresServer> {
    await this.stop();
    const standby = await this.copy();
    const conninfo = `host=127.0.0.1 port=${this.port} user=cookies password='${PASSWORD}'`;
    standby.configure({ primary_conninfo: conninfo });
    standby.write('standby.signal', '');
    this.configure({ synchronous_standby_names: '*' });
    await this.start();
    await standby.start();
    return standby;
  }

  /** Makes a server with a copy of the data of this server, which must be stopped. The new server is not started. */
  private async copy(): Promise<PostgresServer> {
    const folder = serverFolder();
    cpSync(join(this.folder, 'data'), join(folder, 'data'), { recursive: true, preserveTimestamps: true });
    giveToUser(folder);
    chmodSync(join(folder, 'data'), 0o700);
    return new PostgresServer(folder, await freePort(), this.programs);
  }

  /** Adds settings, which take effect at the next start. */
  configure(settings: Record<string, string>): void {
    const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value.replaceAll(`'`, `''`)}'\n`);
    this.write('postgresql.auto.conf', lines.join(''));
  }

  /** Creates a file in the data folder, or appends to it. */
  write(name: string, text: string, mode?: number): void {
    const path = join(this.folder, 'data', name);
    writeFileSync(path, text, { flag: 'a', mode });
    giveToUser(path);
  }

  /** Replaces the content of a file in the data folder. */
  replace(name: string, text: string): void {
    rmSync(join(this.folder, 'data', name), { force: true });
    this.write(name, text);
  }

  get isRunning(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Starts the server unless it runs. */
  async start(): Promise<void> {
    if (this.isRunning) return;
    const data = join(this.folder, 'data');
    // No Unix socket: its path may have 107 bytes, and the temporary folder may have a longer one.
    const settings = { port: String(this.port), listen_addresses: '127.0.0.1', unix_socket_directories: '' };
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const child = spawn(this.programs.postgres, ['-D', data, ...options], {
      ...ORDINARY_USER,
      env: {},
      cwd: this.folder,
    });
    this.child = child;
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (this.output += String(chunk)));
    for (let waited = 0; waited < 30_000; waited += 20) {
      if (child.exitCode !== null) throw new Error(`PostgreSQL ended with ${child.exitCode}:\n${this.output}`);
      if (await this.accepts()) return;
      await sleep(20);
    }
    throw new Error(`PostgreSQL did not start:\n${this.output}`);
  }

  /** @param signal SIGINT stops it in order (fast shutdown), SIGQUIT immediately, SIGKILL without cleanup */
  async stop(signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
    const { child } = this;
    if (child === undefined || !this.isRunning) return;
    child.kill(signal);
    await once(child, 'exit');
  }

  /** Kills the server and its sessions, as a crash of its machine would, so that it can start again immediately. */
  async crash(): Promise<void> {
    const pids = this.processes();
    await this.stop('SIGKILL');
    for (const pid of pids) signal(pid, 'SIGKILL');
    // While a session is left, the shared memory is in use and a new server refuses to start.
    while (pids.some((pid) => signal(pid, 0))) await sleep(5);
  }

  /** Stops every process of the server, as a frozen machine would. */
  freeze(): void {
    for (const pid of this.processes()) signal(pid, 'SIGSTOP');
  }

  thaw(): void {
    for (const pid of this.processes()) signal(pid, 'SIGCONT');
  }

  private processes(): number[] {
    const { pid } = this.child!;
    return [pid!, ...childrenOf(pid!)];
  }

  async remove(): Promise<void> {
    await this.stop('SIGQUIT');
    rmSync(this.folder, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.remove();
  }

  /** Removes a server that may still run, while this process exits. */
  removeNow(): void {
    void this.stop('SIGQUIT');
    // Until the server has ended, it may write files.
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  /** @param database default: the database that every server has */
  url(database = 'postgres', query = ''): string {
    return `postgres://cookies:${encodeURIComponent(PASSWORD)}@127.0.0.1:${this.port}/${database}${query}`;
  }

  private async accepts(): Promise<boolean> {
    const client = new pg.Client({ connectionString: this.url(), connectionTimeoutMillis: 2000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return true;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

/** @returns whether there is such a process */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

function childrenOf(pid: number): number[] {
  const children = `/proc/${pid}/task/${pid}/children`;
  if (existsSync(children)) return readFileSync(children, 'utf8').trim().split(' ').map(Number);
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  const pairs = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  return pairs.filter(([, parent]) => parent === pid).map(([child]) => child!);
}

/** A port that nothing listens on now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** Ends the sessions of every service on a server, as an operator or a restart does. */
export async function endSessions(url: string): Promise<void> {
  await onServer(url, (client) =>
    client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'cookies'`),
  );
}

/** The number of connections of services to a database. */
export async function connectionsTo(url: string): Promise<number> {
  const sql = `SELECT 1 FROM pg_stat_activity WHERE application_name = 'cookies' AND datname = current_database()`;
  return (await onServer(url, (client) => client.query(sql))).rows.length;
}

/** Sets a default of the sessions on a database that begin later, such as `statement_timeout = 1`. */
export async function setDefault(url: string, setting: string): Promise<void> {
  await onServer(url, (client) => client.query(`ALTER DATABASE "${client.database}" SET ${setting}`));
}

/** Runs SQL on a server, without the service. */
export async function onServer<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
