import { rmSync } from 'node:fs';
import { onServer, type PostgresServer } from '../support/postgres/postgres-server.js';
import { temporaryFolder } from '../support/service.js';
import type { Change } from './change-log.js';
import { ModelFuzz } from './model.js';
import { RawFuzz } from './raw.js';
import { endViolation, type ServiceUnderTest, startUnderTest } from './service-under-test.js';
import { Violation } from './violation.js';

export type Part = 'raw' | 'model';

export interface FuzzOptions {
  readonly seed: number;
  /** Requests of all parts together. */
  readonly requests: number;
  /** Concurrent clients of the model. */
  readonly clients: number;
  readonly parts: readonly Part[];
  /** A PostgreSQL server, instead of SQLite. */
  readonly server?: PostgresServer;
  readonly progress?: (text: string) => void;
  /** Receives one line for each part. */
  readonly report: (text: string) => void;
}

/** One part of the fuzzer, which sends requests to one service. */
export interface FuzzPart {
  readonly counts: Record<string, number> & { requests: number };
  /** Sends requests until `counts` has this many. @throws {Violation} */
  sendUntil(requests: number): Promise<void>;
  /** Compares the responses since the last comparison with the log and the new changes. @throws {Violation} */
  compare(changes: readonly Change[]): void;
  close(): void;
}

/** Requests until the log and the database are compared. */
const EPOCH = 40_000;
/** Changes of all clients in the report of a violation; as many as one client of the model remembers its requests. */
const REPORTED_CHANGES = 1000;
/** For raw bytes the storage is often full, but a list has several chunks. The clients of the model often meet both. */
const CAPACITY: Readonly<Record<Part, number>> = { raw: 2500, model: 60 };

/** Runs the parts, each on a new service. @returns whether no promise was broken */
export async function fuzz(options: FuzzOptions): Promise<boolean> {
  let passed = true;
  for (const part of options.parts) {
    const folder = temporaryFolder();
    const databaseUrl = await databaseFor(part, options.server);
    const environment = { COOKIES_CAPACITY: String(CAPACITY[part]) };
    const service = await startUnderTest(folder, environment, databaseUrl);
    try {
      options.report(`${part}: seed ${options.seed}, ${sentence(await run(part, service, options))}`);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      passed = false;
      options.report(`${part}: FAILED, seed ${options.seed}, ${error.message}`);
      options.progress?.(error.evidence.join('\n'));
    } finally {
      await service.process.end('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return passed;
}

/** Sends the requests of a part, expects that nothing is in flight afterwards, and ends the service. */
async function run(part: Part, service: ServiceUnderTest, options: FuzzOptions): Promise<Record<string, number>> {
  const { seed, clients, parts, progress } = options;
  const requests = Math.ceil(options.requests / parts.length);
  const fuzz: FuzzPart =
    part === 'raw' ? new RawFuzz(service, seed) : new ModelFuzz(service, seed, clients, CAPACITY.model);
  const { counts } = fuzz;
  const began = performance.now();
  let serial = 0;
  while (counts.requests < requests) {
    await fuzz.sendUntil(Math.min(requests, counts.requests + EPOCH)).catch(async (error: unknown) => {
      throw error instanceof Violation ? await withChanges(error, service, serial) : error;
    });
    const rate = Math.round(counts.requests / ((performance.now() - began) / 1000));
    await service.log.settle();
    const changes = await service.changes.after(serial);
    fuzz.compare(changes);
    serial = changes.at(-1)?.serial ?? serial;
    service.log.forget();
    progress?.(`${part}: ${counts.requests} of ${requests} requests, ${rate} a second`);
  }
  fuzz.close();
  const violation = await endViolation(service);
  if (violation !== undefined) throw new Violation(violation);
  return counts;
}

/** Adds the newest changes of the database, which tell whether a record of the violation was stored. */
async function withChanges(violation: Violation, { changes }: ServiceUnderTest, serial: number): Promise<Violation> {
  const newest = (await changes.after(serial)).slice(-REPORTED_CHANGES);
  return new Violation(violation.message, [...violation.evidence, ...newest.map((change) => JSON.stringify(change))]);
}

/** Makes an empty PostgreSQL database and returns its URL; `undefined` on SQLite. */
async function databaseFor(part: Part, server: PostgresServer | undefined): Promise<string | undefined> {
  await (server && onServer(server.url(), (client) => client.query(`CREATE DATABASE fuzz_${part}`)));
  return server?.url(`fuzz_${part}`);
}

function sentence(counts: Record<string, number>): string {
  return Object.entries(counts)
    .map(([what, count]) => `${what} ${count}`)
    .join(', ');
}
