import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../../src/config/config.js';
import { provideDatabase } from './engine.js';
import { environmentIn } from './service.js';
import { until } from './until.js';

export interface SpawnOptions {
  readonly uid?: number;
  readonly gid?: number;
  /** A descriptor for the log, instead of `output`. */
  readonly stdout?: number;
  /** A command that runs before the service: it gets the service's command line as arguments and ends with `exec`. */
  readonly through?: readonly string[];
  /** Folder of the project whose service starts; default: this project. */
  readonly project?: string;
}

/** A line of the log in production. */
export type LogLine = Record<string, unknown> & { readonly msg: string };

const running = new Set<ChildProcess>();
const killAll = (): void => running.forEach((child) => child.kill('SIGKILL'));

/** Kills the child at the end of this process, if it still runs. */
function killAtExit(child: ChildProcess): void {
  if (running.size === 0) process.once('exit', killAll);
  running.add(child);
  child.once('exit', () => {
    running.delete(child);
    if (running.size === 0) process.off('exit', killAll);
  });
}

/** The built service in a separate process, as an operator starts it. `await using` kills it at the end of a block. */
export class ServiceProcess implements AsyncDisposable {
  output = '';
  private listensOn?: { url: string; managementUrl: string };

  private constructor(readonly child: ChildProcess) {
    killAtExit(child);
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (this.output += String(chunk)));
  }

  /** Passes every line of stdout to the listener instead of collecting them, because the log of a long run is long. */
  readLines(listener: (line: string) => void): void {
    const { url, managementUrl } = this;
    this.listensOn = { url, managementUrl };
    const stdout = this.child.stdout!.removeAllListeners('data').setEncoding('utf8');
    let rest = '';
    stdout.on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop()!;
      lines.forEach(listener);
    });
  }

  /** Starts the service without waiting, for settings that prevent the start. */
  static spawn(
    folder: string,
    environment: Environment = {},
    { stdout, uid, gid, through = [], project = '' }: SpawnOptions = {},
  ): ServiceProcess {
    const env = {
      PATH: process.env['PATH'],
      ...environmentIn(folder, { LOG_LEVEL: 'info', NODE_ENV: 'production', ...environment }),
    };
    const [program, ...args] = [...through, process.execPath, resolve(project, 'dist/src/main.js')];
    const child = spawn(program, args, {
      cwd: folder,
      env,
      stdio: ['pipe', stdout ?? 'pipe', 'pipe'],
      uid,
      gid,
    });
    return new ServiceProcess(child);
  }

  /** Starts the service and waits until it listens. */
  static async start(
    folder: string,
    environment: Environment = {},
    options: SpawnOptions = {},
  ): Promise<ServiceProcess> {
    await provideDatabase(folder);
    const service = ServiceProcess.spawn(folder, environment, options);
    for (let waited = 0; waited < 60_000; waited += 20) {
      if (service.hasEnded) throw new Error(`The service ended with ${service.child.exitCode}:\n${service.output}`);
      if (service.addresses !== undefined) return service;
      await sleep(20);
    }
    service.child.kill('SIGKILL');
    throw new Error(`The service did not start:\n${service.output}`);
  }

  /** The JSON lines of the output; throws if one is incomplete. */
  get lines(): LogLine[] {
    const lines = this.output.slice(0, this.output.lastIndexOf('\n') + 1).split('\n');
    return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as LogLine);
  }

  /** Waits until the output has this text. On a loaded machine the start of a worker alone takes 15 s. */
  printed(text: string, timeout = 60_000): Promise<void> {
    const what = () => `"${text}" in the output, which ends with:\n${this.output.slice(-5000)}`;
    return until(() => this.output.includes(text), what, timeout);
  }

  /** Waits until all of stdout has been read, which may be after the end of the process. */
  async outputEnd(): Promise<void> {
    const stdout = this.child.stdout!;
    if (!stdout.readableEnded) await once(stdout.resume(), 'end');
  }

  get url(): string {
    return this.addresses!.url;
  }

  get managementUrl(): string {
    return this.addresses!.managementUrl;
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Sends a signal and waits for the end. Returns the exit code, or `null` after an uncaught signal. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (!this.hasEnded) {
      this.child.kill(signal);
      await once(this.child, 'exit');
    }
    return this.child.exitCode;
  }

  /** Waits until the service ends without a signal. */
  async exit(): Promise<number | null> {
    if (!this.hasEnded) await once(this.child, 'exit');
    return this.child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGKILL');
  }

  private get addresses(): { url: string; managementUrl: string } | undefined {
    if (this.listensOn !== undefined) return this.listensOn;
    const url = /Cookies: +(https?:\/\/[^/"]+)/.exec(this.output)?.[1];
    const managementUrl = /Management: +(http:\/\/[^/"]+)/.exec(this.output)?.[1];
    return url === undefined || managementUrl === undefined ? undefined : { url, managementUrl };
  }
}
