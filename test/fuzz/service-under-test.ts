import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../../src/config/config.js';
import { metricsOf } from '../support/metrics.js';
import { token } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';
import { type ChangeLog, postgresChangeLog, sqliteChangeLog } from './change-log.js';
import { LogBook, REQUESTS } from './log-book.js';
import type { Tokens } from './message.js';
import { ResponseRules } from './response-rules.js';

export interface ServiceUnderTest {
  readonly process: ServiceProcess;
  readonly url: URL;
  readonly log: LogBook;
  readonly changes: ChangeLog;
  readonly rules: ResponseRules;
  readonly tokens: Tokens;
}

/**
 * Starts the built service on a new database.
 * @param databaseUrl of an empty PostgreSQL database; default: SQLite
 */
export async function startUnderTest(
  folder: string,
  environment: Environment,
  databaseUrl?: string,
): Promise<ServiceUnderTest> {
  const service = await ServiceProcess.start(folder, {
    DOCS: 'true',
    CORS_ORIGINS: 'https://app.example.com',
    ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
    ...environment,
  });
  return {
    process: service,
    url: new URL(service.url),
    log: new LogBook(service),
    changes: databaseUrl === undefined ? sqliteChangeLog(folder) : await postgresChangeLog(databaseUrl),
    rules: await ResponseRules.of(service),
    tokens: {
      both: await token(),
      read: await token({ scope: 'cookies:read' }),
      write: await token({ scope: 'cookies:write' }),
      forged: await token({ secret: 'another secret of thirty-two bytes' }),
    },
  };
}

/** The reason why a service ended. */
export function lastWords({ child, output }: ServiceProcess): string {
  const end = child.signalCode ?? `exit code ${child.exitCode}`;
  const [error] = /^.*(Error|FATAL).*$/m.exec(output.slice(-20_000)) ?? [];
  return `The process ended with ${end}${error === undefined ? '' : `: ${error.slice(0, 300)}`}`;
}

const IN_FLIGHT = 'http_requests_in_flight';
/** Seconds until a request that was cut off has left the metric; longer than for half a request. */
const LONGEST_FLIGHT = 60;

/**
 * Ends an idle service, as an operator does.
 * @returns the violation: requests in flight without a client, requests that the log and the metrics count differently,
 * or an exit code other than 0
 */
export async function endViolation({ process: service, log }: ServiceUnderTest): Promise<string | undefined> {
  let metrics = await metricsOf(service);
  for (let second = 0; second < LONGEST_FLIGHT && metrics.get(IN_FLIGHT) !== 0; second++) {
    await sleep(1000);
    metrics = await metricsOf(service);
  }
  if (metrics.get(IN_FLIGHT) !== 0) return `${IN_FLIGHT} is ${metrics.get(IN_FLIGHT)} when nothing is in flight`;
  const counted = new Map([...metrics].filter(([name]) => name.startsWith(REQUESTS)));
  for (const name of new Set([...counted.keys(), ...log.series.keys()])) {
    const [metric, lines] = [counted.get(name) ?? 0, log.series.get(name) ?? 0];
    if (metric !== lines) return `${name} is ${metric}, and the log has ${lines} lines`;
  }
  const code = await service.end();
  return code === 0 ? undefined : `The service ended with ${code} on SIGTERM`;
}
