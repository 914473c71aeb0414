import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { run } from '../support/command.js';
import { warningsDuring } from '../support/data-source.js';
import { describePostgres } from '../support/engine.js';
import { connectionsTo, onServer, PostgresServer } from '../support/postgres/postgres-server.js';
import { type Answer, COOKIE, sharedService } from '../support/service.js';
import { shared } from '../support/shared.js';

/** A database URL with these servers, tried in this order. */
function urlOf(...servers: PostgresServer[]): string {
  const hosts = servers.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return servers[0]!.url().replace(/@[^/]+/, `@${hosts}`);
}

/** Makes a running server reject writes in all sessions, like an old primary whose standby was promoted. */
async function makeReadOnly(server: PostgresServer): Promise<void> {
  await onServer(server.url(), async (client) => {
    await client.query('ALTER SYSTEM SET default_transaction_read_only = on');
    await client.query('SELECT pg_reload_conf()');
  });
  for (let tries = 0; tries < 200; tries++) {
    const { rows } = await onServer(server.url(), (client) => client.query('SHOW default_transaction_read_only'));
    if (rows[0]?.default_transaction_read_only === 'on') break;
    await sleep(10);
  }
  // A session applies reloaded settings before its next statement; an idle one needs a moment to receive the signal.
  await sleep(100);
}

describePostgres('a service that is given a standby and its primary, in this order', () => {
  const primary = shared(() => PostgresServer.create());
  const standby = shared(() => primary.makeStandby());
  const { service, client } = sharedService(() => ({
    DATABASE_URL: urlOf(standby, primary),
    DATABASE_BUSY_TIMEOUT: '3000',
  }));

  it('writes to the primary, reads there as well, and holds no connection to the standby', async () => {
    const { status, body } = await client.post(COOKIE);
    expect(status).toBe(201);
    expect((await client.get(`/cookies/${body.id}`)).status).toBe(200);
    expect((await client.get('/cookies')).body).toHaveLength(1);
    expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(200);
    expect(await connectionsTo(standby.url())).toBe(0);
  });

  it('doctor with the standby alone reports that it cannot write, and does not ask for a migration', async () => {
    const { stdout } = await run(service.folder, ['doctor'], { environment: { DATABASE_URL: standby.url() } });
    expect(stdout).toMatch(/^FAIL +server +The server is read-only: a standby/m);
    expect(stdout).toMatch(/^ok +migrations +all have run$/m);
  });

  it('accepts POST when the standby is promoted, logs the change, and reads nothing at the old primary afterwards', async () => {
    const source = service.app.get(DataSource);
    await source.query('CREATE TABLE servers (port int)');
    // Each pool has some idle connections to the old primary.
    await Promise.all(Array.from({ length: 6 }, () => client.get('/cookies')));
    await Promise.all(
      Array.from({ length: 6 }, () => source.transaction((manager) => manager.query('SELECT pg_sleep(0.05)'))),
    );
    expect(await connectionsTo(primary.url())).toBeGreaterThan(6);
    await onServer(standby.url(), (session) => session.query('SELECT pg_promote()'));
    await makeReadOnly(primary);
    let first!: Answer;
    const warnings = await warningsDuring(async () => {
      first = await client.post({ ...COOKIE, wish: 'after the promotion' });
    });
    const { status, body } = first;
    expect(status).toBe(201);
    expect(warnings).toContain(
      `The database is now at 127.0.0.1:${standby.port}, no longer at 127.0.0.1:${primary.port}`,
    );
    const reads = await Promise.all(
      Array.from({ length: 12 }, (_, index) => client.get(index % 2 === 0 ? `/cookies/${body.id}` : '/cookies')),
    );
    expect(reads.map((read) => read.status)).toEqual(reads.map(() => 200));
    for (const { text } of reads) expect(text).toContain('after the promotion');
    expect((await client.post(COOKIE)).status).toBe(201);
    expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(200);
  });
});

describePostgres('a standby that lacks the last changes and is promoted', () => {
  const primary = shared(() => PostgresServer.create());
  const standby = shared(() => primary.makeStandby());
  const { client } = sharedService(() => ({ DATABASE_URL: urlOf(primary, standby) }));

  it('GET /cookies returns its records, not the cached list with lost ones, and no earlier ETag matches', async () => {
    await onServer(standby.url(), async (session) => {
      await session.query(`ALTER SYSTEM SET primary_conninfo = ''`);
      await session.query('SELECT pg_reload_conf()');
    });
    await onServer(primary.url(), async (session) => {
      await session.query(`ALTER SYSTEM SET synchronous_standby_names = ''`);
      await session.query('SELECT pg_reload_conf()');
      while ((await session.query('SELECT 1 FROM pg_stat_replication')).rows.length > 0) await sleep(10);
    });
    expect((await client.post({ ...COOKIE, wish: 'lost' })).status).toBe(201);
    const before = await client.get('/cookies');
    expect(before.text).toContain('lost');
    await primary.crash();
    await onServer(standby.url(), (session) => session.query('SELECT pg_promote()'));
    const { status } = await client.post({ ...COOKIE, wish: 'new' });
    expect(status).toBe(201);
    const after = await client.get('/cookies', { 'if-none-match': before.headers.get('etag')! });
    expect([after.status, after.body]).toEqual([200, [expect.objectContaining({ wish: 'new' })]]);
    expect((await client.get('/cookies')).text).not.toContain('lost');
  });
});
