import type { Environment } from '../../src/config/config.js';
import { onServer, type PostgresServer } from '../support/postgres/postgres-server.js';
import { escapedBytes } from './message.js';
import { fuzzModel, ModelViolation } from './model.js';
import { fuzzRaw, RawViolation } from './raw.js';
import { type ProvideDatabase, ServiceUnderTest } from './service-under-test.js';

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

/** A small capacity: the storage is often full, but a list has several chunks. */
const RAW: Environment = { COOKIES_CAPACITY: '2500' };
/** The clients of a model often meet a full storage, and often free places. */
const MODEL_CAPACITY = 60;
const MODEL: Environment = { COOKIES_CAPACITY: String(MODEL_CAPACITY) };

/** Runs the parts, each on a new service. @returns whether no promise was broken */
export async function fuzz(options: FuzzOptions): Promise<boolean> {
  let passed = true;
  for (const part of options.parts) {
    const services = new ServiceUnderTest(part === 'raw' ? RAW : MODEL, databases(options.server));
    try {
      const requests = Math.ceil(options.requests / options.parts.length);
      const run = { ...options, requests, capacity: MODEL_CAPACITY };
      const counts = part === 'raw' ? await fuzzRaw(services, run) : await fuzzModel(services, run);
      options.report(`${part}: seed ${options.seed}, ${sentence(counts)}`);
    } catch (error) {
      passed = false;
      await reportViolation(part, error, services, options);
    } finally {
      await services.removeAll();
    }
  }
  return passed;
}

async function reportViolation(
  part: Part,
  error: unknown,
  services: ServiceUnderTest,
  { seed, progress, report }: FuzzOptions,
): Promise<void> {
  const isModel = error instanceof ModelViolation;
  if (!isModel && !(error instanceof RawViolation)) throw error;
  report(`${part}: FAILED, seed ${seed}, ${error.message}`);
  if (isModel) return progress?.(error.history);
  const tokens = await services.tokens;
  for (const { messages, end } of error.suspects.slice(0, 3)) {
    const lines = messages.map(({ bytes }) => escapedBytes(bytes, tokens));
    progress?.(`  ${[...lines, `(then: ${end})`].join('\n  ')}`);
  }
}

let databasesMade = 0;

function databases(server: PostgresServer | undefined): ProvideDatabase {
  if (server === undefined) return undefined;
  return async () => {
    databasesMade += 1;
    const name = `fuzz_${databasesMade}`;
    await onServer(server.url(), (client) => client.query(`CREATE DATABASE ${name}`));
    return server.url(name);
  };
}

function sentence(counts: Record<string, number>): string {
  return Object.entries(counts)
    .map(([what, count]) => `${what} ${count}`)
    .join(', ');
}
