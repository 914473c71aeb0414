import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../../src/config/config.js';
import { temporaryFolder, token } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';
import { type ChangeLog, postgresChangeLog, sqliteChangeLog } from './change-log.js';
import { LogBook } from './log-book.js';
import type { Tokens } from './message.js';
import { ResponseRules } from './response-rules.js';

export interface StartedService {
  readonly process: ServiceProcess;
  readonly url: URL;
  readonly log: LogBook;
  readonly changes: ChangeLog;
  readonly rules: ResponseRules;
  readonly tokens: Tokens;
}

/** Makes an empty PostgreSQL database and returns its URL; absent on SQLite. */
export type ProvideDatabase = (() => Promise<string>) | undefined;

/** Starts built services on new databases, and ends them. */
export class ServiceUnderTest {
  private readonly started = new Map<ServiceProcess, string>();
  /** Shared by all services. */
  readonly tokens = tokens();

  constructor(
    private readonly environment: Environment,
    private readonly provideDatabase?: ProvideDatabase,
  ) {
    process.once('exit', this.killAll);
  }

  async start(): Promise<StartedService> {
    const folder = temporaryFolder();
    const databaseUrl = await this.provideDatabase?.();
    const service = await ServiceProcess.start(folder, {
      DOCS: 'true',
      CORS_ORIGINS: 'https://app.example.com',
      ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
      ...this.environment,
    });
    this.started.set(service, folder);
    const changes = databaseUrl === undefined ? sqliteChangeLog(folder) : await postgresChangeLog(databaseUrl);
    const rules = await ResponseRules.of(service);
    return {
      process: service,
      url: new URL(service.url),
      log: new LogBook(service),
      changes,
      rules,
      tokens: await this.tokens,
    };
  }

  /** Kills a service in any state, and removes its files. */
  async remove({ process: service }: StartedService): Promise<void> {
    await service.end('SIGKILL');
    rmSync(this.started.get(service)!, { recursive: true, force: true });
    this.started.delete(service);
  }

  async removeAll(): Promise<void> {
    for (const service of [...this.started.keys()]) await this.remove({ process: service } as StartedService);
    process.off('exit', this.killAll);
  }

  private readonly killAll = (): void => {
    for (const { child } of this.started.keys()) child.kill('SIGKILL');
  };
}

async function tokens(): Promise<Tokens> {
  return {
    both: await token(),
    read: await token({ scope: 'cookies:read' }),
    write: await token({ scope: 'cookies:write' }),
    forged: await token({ secret: 'another secret of thirty-two bytes' }),
  };
}

/** The reason why a service ended. */
export function lastWords({ child, output }: ServiceProcess): string {
  const end = child.signalCode ?? `exit code ${child.exitCode}`;
  const [error] = /^.*(Error|FATAL).*$/m.exec(output.slice(-20_000)) ?? [];
  return `The process ended with ${end}${error === undefined ? '' : `: ${error.slice(0, 300)}`}`;
}

/** Seconds until a request that was cut off has left the metric; longer than for half a request. */
const LONGEST_FLIGHT = 60;

/**
 * Ends an idle service, as an operator does.
 * @returns the violation: requests in flight without a client, or an exit code other than 0
 */
export async function endViolation(service: ServiceProcess): Promise<string | undefined> {
  let left = await gauge(service, IN_FLIGHT);
  for (let second = 0; second < LONGEST_FLIGHT && left !== 0; second++) {
    await sleep(1000);
    left = await gauge(service, IN_FLIGHT);
  }
  if (left !== 0) return `${IN_FLIGHT} is ${left} when nothing is in flight`;
  const code = await service.end();
  return code === 0 ? undefined : `The service ended with ${code} on SIGTERM`;
}

const IN_FLIGHT = 'http_requests_in_flight';

/** The value of a gauge of the management port. */
export async function gauge({ managementUrl }: ServiceProcess, name: string): Promise<number | undefined> {
  const text = await (await fetch(`${managementUrl}/metrics`)).text();
  const value = new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1];
  return value === undefined ? undefined : Number(value);
}
