import { PostgresServer } from '../postgres/postgres-server.ts';

declare global {
  var postgresOfTheTests: PostgresServer | undefined;
}

/**
 * Starts one PostgreSQL server for the whole test run, unless `TEST_POSTGRES_URL` names one. Its promises about a crash are of
 * no use here (`fsync = off`); the tests that crash a server start their own.
 */
export async function startPostgres(): Promise<void> {
  if (process.env['TEST_POSTGRES_URL'] !== undefined) return;
  const server = await PostgresServer.create({ fsync: 'off', max_connections: '300', shared_buffers: '32MB' });
  globalThis.postgresOfTheTests = server;
  // A run that is broken off reaches no teardown.
  process.once('exit', () => void server.stop('SIGQUIT'));
  process.env['TEST_POSTGRES_URL'] = server.url();
}

export default async function stopPostgres(): Promise<void> {
  await globalThis.postgresOfTheTests?.remove();
}
