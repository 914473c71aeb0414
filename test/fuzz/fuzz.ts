import type { Environment } from '../../src/config/config.js';
import { onServer, type PostgresServer } from '../support/postgres/postgres-server.js';
import { type Message, messageBytes, utf8 } from './message.js';
import { escaped, readReproduction, writeReproduction } from './reproduction.js';
import { fuzzModel, ModelViolation } from './model.js';
import { fuzzRaw, RawViolation } from './raw.js';
import { type Found, Player, reproduce } from './raw-reproduction.js';
import type { Script } from './script.js';
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
  /** File for the reproduction of a violation. */
  readonly reproductionFile?: string;
}

/** The storage is often full, and lists are long enough for several pieces. */
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

/** Plays a reproduction again, script by script. @returns whether nothing is wrong any more */
export async function replay(options: FuzzOptions, file: string): Promise<boolean> {
  const services = new ServiceUnderTest(RAW, databases(options.server));
  try {
    const player = new Player(services);
    const { tokens } = await services.start();
    const { scripts, violation } = readReproduction(file, tokens);
    options.progress?.(`It was: ${violation}`);
    let passed = true;
    for (const script of scripts) {
      const found = await player.violationOf(script, true);
      options.report(`replay: ${found ?? 'as promised'}`);
      passed &&= found === undefined;
    }
    return passed;
  } finally {
    await services.removeAll();
  }
}

async function reportViolation(
  part: Part,
  error: unknown,
  services: ServiceUnderTest,
  options: FuzzOptions,
): Promise<void> {
  const { seed, progress, report, reproductionFile } = options;
  const isModel = error instanceof ModelViolation;
  if (!isModel && !(error instanceof RawViolation)) throw error;
  report(`${part}: FAILED, seed ${seed}, ${error.message}`);
  progress?.(isModel ? error.history : 'Looking for the shortest way to see it');
  const { tokens } = await services.start();
  const found = isModel ? withoutHistory(error) : await reproduce(services, error);
  progress?.(`${part}: ${found.violation}`);
  for (const script of found.scripts.slice(0, 3)) progress?.(`  ${escaped(script, tokens)}`);
  if (reproductionFile === undefined) return;
  writeReproduction(reproductionFile, { seed, ...found }, tokens);
  progress?.(`To see it again: npm run fuzz -- --replay ${reproductionFile}`);
}

/** The request alone, after one that stores a record for it, repeated often enough to show the violation. */
function withoutHistory({ message, request, record }: ModelViolation): Found {
  const scripts: Script[] = [];
  const play = (one: Message): number => scripts.push({ messages: [one], packets: [], end: 'wait' });
  if (record !== undefined) {
    const { flavor, size, wish } = record;
    const body = utf8(JSON.stringify({ flavor, size, wish }));
    const headers = ['Authorization: Bearer {token}', 'Content-Type: application/json'];
    const bytes = messageBytes({ id: 'first', method: 'POST', target: '/cookies', headers, body });
    play({ id: 'first', method: 'POST', bytes, expected: [201] });
  }
  // The first record of a database has the id 1.
  if (request !== undefined)
    play({ ...request, bytes: request.bytes.replace(`/cookies/${record?.id} `, '/cookies/1 ') });
  return { violation: message, scripts };
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
