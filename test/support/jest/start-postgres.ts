import { PostgresServer } from '../postgres/postgres-server.ts';

declare global {
  var postgresOfTheTests: PostgresServer | undefined;
}

/**
 * Starts a PostgreSQL server for the test run, unless `TEST_POSTGRES_URL` names one. It runs with `fsync = off`; tests
 * that crash a server start their own. Without a server the tests on PostgreSQL are skipped, but never in CI.
 */
export async function startPostgres(): Promise<void> {
  delete process.env['WITHOUT_POSTGRES'];
  if (process.env['TEST_POSTGRES_URL'] !== undefined) return;
  try {
    const server = await PostgresServer.create({ fsync: 'off', max_connections: '300', shared_buffers: '32MB' });
    globalThis.postgresOfTheTests = server;
    // An interrupted run reaches no teardown.
    process.once('exit', () => server.removeNow());
    process.env['TEST_POSTGRES_URL'] = server.url();
  } catch (error) {
    const reason = (error as Error).message.replaceAll(/\s+/g, ' ');
    const advice = `PostgreSQL cannot be started here (${reason}). Set TEST_POSTGRES_URL to a server on which databases may be made.`;
    if (process.env['CI']) throw new Error(advice, { cause: error });
    console.warn(`The tests on PostgreSQL are skipped: ${advice}`);
    process.env['WITHOUT_POSTGRES'] = 'true';
  }
}

export default async function stopPostgres(): Promise<void> {
  await globalThis.postgresOfTheTests?.remove();
}
