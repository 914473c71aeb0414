import { rmSync } from 'node:fs';
import type { Environment } from '../../src/config/config.js';
import { type Ledger, writeUntil } from '../support/load/ledger.js';
import { temporaryFolder, type Endpoint } from '../support/service.js';
import { ServiceProcess, type SpawnOptions } from '../support/service-process.js';
import { until } from '../support/until.js';

export interface Run {
  /** Number of faults on one database. */
  readonly times: number;
  /** Duration of each attack of hostile clients, and of the faults of two services on one file. */
  readonly seconds?: number;
  /** Names of the attacks; default: all. */
  readonly attacks?: readonly string[];
  /** Receives text that a line of counts cannot hold. */
  readonly report?: (text: string) => void;
}

/** Makes the fault while clients write, and throws if a promise of the service is broken. */
export type Fault = (run: Run) => Promise<Record<string, number | string>>;

/** Milliseconds after which a load counts as hung. */
export const LONGEST_LOAD = 120_000;

/** The place of a fault: a folder and the processes on it. */
export class Site {
  private readonly processes: ServiceProcess[] = [];

  private constructor(readonly folder: string) {}

  /** Runs `work`, then ends every process and removes the folder. */
  static async use<T>(work: (site: Site) => Promise<T>): Promise<T> {
    const site = new Site(temporaryFolder());
    try {
      return await work(site);
    } finally {
      await Promise.all(site.processes.map((service) => service.end('SIGKILL')));
      rmSync(site.folder, { recursive: true, force: true });
    }
  }

  /** @param folder of the database */
  async start(
    environment: Environment = {},
    { folder = this.folder, ...options }: SpawnOptions & { folder?: string } = {},
  ): Promise<ServiceProcess> {
    const service = await ServiceProcess.start(folder, { COOKIES_CAPACITY: '10000000', ...environment }, options);
    this.processes.push(service);
    return service;
  }
}

export function whileWriting(service: Endpoint, ledger: Ledger, work: () => Promise<void>) {
  return whileLoaded((signal) => writeUntil(signal, service, ledger), work);
}

/** Runs `work` while a load runs, which ends when its signal aborts. An error of the load ends both. */
export async function whileLoaded(
  load: (signal: AbortSignal) => Promise<unknown>,
  work: () => Promise<void>,
): Promise<void> {
  const stopping = new AbortController();
  const loading = load(AbortSignal.any([stopping.signal, AbortSignal.timeout(LONGEST_LOAD)]));
  const failed = new Promise<never>((_resolve, reject) => {
    loading.catch(reject);
  });
  try {
    await Promise.race([work(), failed]);
  } finally {
    stopping.abort();
    await loading;
  }
}

export async function untilWritten(ledger: Ledger, count: number): Promise<void> {
  await untilAnswered(ledger, / 2\d\d$/, count);
}

/** Waits for `count` more answers of a kind, or until another condition holds. */
export async function untilAnswered(
  ledger: Ledger,
  kind: RegExp,
  count: number,
  orWhen = (): boolean => false,
): Promise<void> {
  const enough = ledger.answered(kind) + count;
  await until(
    () => ledger.answered(kind) >= enough || orWhen(),
    () => `${count} more answers ${kind.source}, of ${JSON.stringify([...ledger.answers])}`,
  );
}
