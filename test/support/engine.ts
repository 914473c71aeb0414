import { basename, join } from 'node:path';
import { onServer } from './postgres/postgres-server.js';

export type EngineName = 'sqlite' | 'postgres';

let engine: EngineName = 'sqlite';
const databases = new Set<string>();

/** Describes tests that need a PostgreSQL server. They are skipped where none can be started. */
export function describePostgres(title: string, tests: () => void): void {
  (hasPostgres() ? describe : describe.skip)(title, tests);
}

/** Describes the same tests for each engine. */
export function describeEngines(title: string, tests: (engine: EngineName) => void): void {
  describe(`${title} on sqlite`, () => tests('sqlite'));
  describePostgres(`${title} on postgres`, () => tests('postgres'));
}

/** `test/support/jest/start-postgres.ts` says when there is none. */
const hasPostgres = (): boolean => process.env['WITHOUT_POSTGRES'] === undefined;

/**
 * Lets the specs that this file imports afterwards run on PostgreSQL: every folder that a test takes for a database then means
 * a database of its own on the server of the test run.
 */
export function usePostgres(): void {
  engine = 'postgres';
  // The programs in test/faults use this file without jest.
  if (typeof afterAll === 'undefined') return;
  afterAll(dropDatabases);
  if (!hasPostgres()) Object.assign(globalThis, { describe: describe.skip });
}

/** What the specs run on. */
export function engineInUse(): EngineName {
  return engine;
}

/** The server of the test run; `test/support/jest/start-postgres.ts` starts it, where `TEST_POSTGRES_URL` names none. */
export function serverUrl(): string {
  const url = process.env['TEST_POSTGRES_URL'];
  if (url === undefined) throw new Error('TEST_POSTGRES_URL is not set: run the tests with npm test');
  return url;
}

/** `DATABASE_URL` for what a test keeps in `folder`. */
export function databaseUrlFor(folder: string): string {
  if (engine === 'sqlite') return `sqlite:${join(folder, 'cookies.sqlite')}`;
  return urlOf(basename(folder).toLowerCase().replaceAll('-', '_'));
}

/** Makes what `databaseUrlFor` names, where a service does not make it by itself. */
export async function provideDatabase(folder: string): Promise<void> {
  if (engine === 'postgres') await createDatabase(new URL(databaseUrlFor(folder)).pathname.slice(1));
}

/** Makes an empty database unless it exists, to be dropped when the spec is done. */
export async function createDatabase(name: string): Promise<string> {
  if (!databases.has(name)) {
    databases.add(name);
    // Its own locale, whatever the server's is: the order of texts must not matter to the service.
    await onServer(serverUrl(), (client) => client.query(`CREATE DATABASE ${name} TEMPLATE template0`));
  }
  return urlOf(name);
}

export async function dropDatabases(): Promise<void> {
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
