import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Database, openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import type { Environment } from '../../src/config/config.js';
import { environmentIn, temporaryFolder } from './service.js';

const HOST = join(import.meta.dirname, 'command-host.js');

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Starts a command of the built command line on the database in `folder`.
 * @param stdout a descriptor for its output, instead of a pipe
 */
export function startCommand(
  folder: string,
  args: readonly string[],
  environment: Environment = {},
  stdout: number | 'pipe' = 'pipe',
): ChildProcess {
  return spawn(process.execPath, [resolve('dist/src/cli/main.js'), ...args], {
    cwd: folder,
    env: environmentOf(folder, environment),
    stdio: ['pipe', stdout, 'pipe'],
  });
}

function environmentOf(folder: string, environment: Environment = {}): Environment {
  return { PATH: process.env['PATH'], ...environmentIn(folder, { NODE_ENV: 'production', ...environment }) };
}

export interface RunOptions {
  readonly environment?: Environment;
  /** Input for stdin. */
  readonly input?: string | Uint8Array;
  /** Folder of the project whose command line runs; default: this project. */
  readonly project?: string;
}

/** Runs a command to its end, in a command host or in a separate process if needed. */
export async function run(
  folder: string,
  args: readonly string[],
  { environment, input = '', project = process.cwd() }: RunOptions = {},
): Promise<Outcome> {
  const env = environmentOf(folder, environment);
  if (isJest && !isHostBusy) return runInHost(project, { args, env, folder, input });
  const child = startCommand(folder, args, environment);
  const outcome = outcomeOf(child);
  child.stdin!.on('error', () => {});
  child.stdin!.end(input);
  return outcome;
}

/** Processes that have loaded the command line of a project, by its folder and NODE_OPTIONS; see `command-host.js`. */
const hosts = new Map<string, ChildProcess>();
let isHostBusy = false;

/** Milliseconds for a command in the host. */
const HOST_PATIENCE = 60_000;

/** The programs in test/faults use this file without jest. Each of their commands has its own process. */
const isJest = typeof afterAll !== 'undefined';
if (isJest) afterAll(() => hosts.forEach((host) => host.disconnect()));

interface HostedCommand {
  readonly args: readonly string[];
  readonly env: Environment;
  readonly folder: string;
  readonly input: string | Uint8Array;
}

async function runInHost(project: string, command: HostedCommand): Promise<Outcome> {
  const options = command.env['NODE_OPTIONS'] ?? '';
  const host = hosts.get(project + options) ?? startHost(project, options);
  isHostBusy = true;
  try {
    host.send(command);
    return await outcomeFrom(host, command.args);
  } finally {
    isHostBusy = false;
  }
}

function startHost(project: string, options: string): ChildProcess {
  const stdio = ['ignore', 'ignore', 'inherit', 'ipc'] as const;
  const env = { ...process.env, NODE_OPTIONS: options };
  const host = fork(HOST, { cwd: project, env, stdio: [...stdio], serialization: 'advanced' });
  hosts.set(project + options, host);
  host.once('exit', () => hosts.delete(project + options));
  return host;
}

/** Waits for the outcome of a command in the host. Without an outcome the host ends; the next command starts one. */
async function outcomeFrom(process: ChildProcess, args: readonly string[]): Promise<Outcome> {
  const waiting = new AbortController();
  const late = setTimeout(() => process.kill('SIGKILL'), HOST_PATIENCE);
  const ended = once(process, 'exit', { signal: waiting.signal }).then(([code, signal]) => {
    throw new Error(`The host of "${args.join(' ')}" ended with ${code ?? signal} before it had an outcome.`);
  });
  try {
    const [outcome] = (await Promise.race([once(process, 'message', { signal: waiting.signal }), ended])) as [Outcome];
    return outcome;
  } finally {
    clearTimeout(late);
    waiting.abort();
    ended.catch(() => {});
  }
}

/** The output of a started command, and its exit code. */
export async function outcomeOf(child: ChildProcess): Promise<Outcome> {
  let [stdout, stderr] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  await once(child, 'close');
  return { code: child.exitCode, stdout, stderr };
}

const originals = new Map<string, Promise<string>>();

/**
 * Makes a folder with a database of these lines, in which commands have run. A spec makes it once, then copies it.
 */
export async function folderWith(text: string, ...commands: readonly string[][]): Promise<string> {
  const key = JSON.stringify([text, commands]);
  if (!originals.has(key)) originals.set(key, madeFolder(text, commands));
  const folder = temporaryFolder();
  cpSync(await originals.get(key)!, folder, { recursive: true });
  return folder;
}

async function madeFolder(text: string, commands: readonly string[][]): Promise<string> {
  const folder = temporaryFolder();
  for (const args of [['import', 'cookies'], ...commands]) {
    expect(await run(folder, args, { input: text })).toMatchObject({ code: 0 });
  }
  return folder;
}

/** Opens the database in `folder` for an inspection or a change. */
export function inDatabase<T>(folder: string, work: (database: Database) => T, file = 'cookies.sqlite'): T {
  using database = openDatabase(join(folder, file), { timeout: 5000 });
  return work(database);
}

/** The number of cookies, and the number in the counter. */
export function countsOf(folder: string, file?: string): { count: number; used: number } {
  return inDatabase(folder, contentsOf, file) as { count: number; used: number };
}

const contentsOf = (database: Database): unknown =>
  database
    .prepare("SELECT (SELECT count(*) FROM cookies) AS count, used FROM storage WHERE resource = 'cookies'")
    .get();

/** Lines in the format of `export`, with ids from `first` on. */
export function lines(count: number, first = 1): string {
  return Array.from({ length: count }, (_, index) => line({ id: first + index })).join('');
}

export function line(members: object = {}): string {
  const { id, ...others } = { flavor: 'vanilla', size: 'small', wish: 'Schnee ❄️ "und" \\', ...members } as {
    id?: number;
  };
  return `${JSON.stringify({ id, ...others })}\n`;
}
