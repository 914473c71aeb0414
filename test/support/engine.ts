import { basename, join } from 'node:path';
import { onServer } from './postgres/postgres-server.js';

export type EngineName = 'sqlite' | 'postgres';

let engine: EngineName = 'sqlite';
const databases = new Set<string>();

/** Describes tests that need a PostgreSQL server. They are skipped if none can be started. */
export function describePostgres(title: string, tests: () => void): void {
  (hasPostgres() ? describe : describe.skip)(title, tests);
}

/** Describes tests that run on each engine. */
export function describeEngines(title: string, tests: (engine: EngineName) => void): void {
  describe(`${title} on sqlite`, () => tests('sqlite'));
  describePostgres(`${title} on postgres`, () => tests('postgres'));
}

/** `test/support/jest/start-postgres.ts` sets the variable if there is no server. */
const hasPostgres = (): boolean => process.env['WITHOUT_POSTGRES'] === undefined;

/**
 * Makes the specs that this file imports run on PostgreSQL. Each database folder of a test then stands for a database
 * on the server of the test run.
 */
export function usePostgres(): void {
  engine = 'postgres';
  if (typeof describe !== 'undefined' && !hasPostgres()) Object.assign(globalThis, { describe: describe.skip });
}

/** Tells whether there is a server for the engine in use. */
export const hasEngine = (): boolean => engine === 'sqlite' || hasPostgres();

export function engineInUse(): EngineName {
  return engine;
}

/**
 * The URL of the test run's server. `test/support/jest/start-postgres.ts` starts it, unless `TEST_POSTGRES_URL` names
 * one.
 */
function serverUrl(): string {
  const url = process.env['TEST_POSTGRES_URL'];
  if (url === undefined) throw new Error('TEST_POSTGRES_URL is not set: run the tests with npm test');
  return url;
}

/** `DATABASE_URL` for the database in `folder`. */
export function databaseUrlFor(folder: string): string {
  if (engine === 'sqlite') return `sqlite:${join(folder, 'cookies.sqlite')}`;
  return urlOf(basename(folder).toLowerCase().replaceAll('-', '_'));
}

/** Creates the database of `databaseUrlFor` if the service does not create it. */
export async function provideDatabase(folder: string): Promise<void> {
  if (engine === 'postgres') await createDatabase(new URL(databaseUrlFor(folder)).pathname.slice(1));
}

// The programs in test/faults use this file without jest.
if (typeof afterAll !== 'undefined') afterAll(dropDatabases);

/** Creates an empty database unless it exists. It is dropped after the spec. */
export async function createDatabase(name: string): Promise<string> {
  if (!databases.has(name)) {
    databases.add(name);
    // A fixed locale, because the service must not depend on the server's order of texts.
    await onServer(serverUrl(), (client) => client.query(`CREATE DATABASE ${name} TEMPLATE template0`));
  }
  return urlOf(name);
}

async function dropDatabases(): Promise<void> {
  if (databases.size === 0) return;
  await onServer(serverUrl(), async (client) => {
    for (const name of databases) await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  });
  databases.clear();
}

function urlOf(name: string): string {
  const url = new URL(serverUrl());
  url.pathname = `/${name}`;
  return url.href;
}
