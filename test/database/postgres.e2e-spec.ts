import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import type { Environment } from '../../src/config/config.js';
import { engineOf, openSnapshot, type Snapshot, transaction } from '../../src/database/engine.js';
import { DatabaseUnavailableError, OutcomeUnknownError } from '../../src/database/errors.js';
import { canMakeCertificates, makeCertificate } from '../support/certificate.js';
import { openDataSource, warningsDuring } from '../support/data-source.js';
import { createDatabase, describePostgres } from '../support/engine.js';
import { expectKeptIn, Ledger, storedOn, writeUntil } from '../support/load/ledger.js';
import { connectionsTo, onServer, PostgresServer, setDefault } from '../support/postgres/postgres-server.js';
import { until } from '../support/until.js';
import { Client, COOKIE, type Service, sharedService, startService } from '../support/service.js';
import { shared } from '../support/shared.js';

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const LOCK_NOT_AVAILABLE = '55P03';
const QUERY_CANCELED = '57014';

const unavailable = (code: string) => ({ name: 'DatabaseUnavailableError', cause: { code } });

const POOLS = { DATABASE_POOL_SIZE: '4', DATABASE_LIST_POOL_SIZE: '2' };

let databases = 0;
const freshDatabase = () => createDatabase(`cookies_${process.pid}_${++databases}`);

const isReady = async ({ managementUrl }: Service): Promise<boolean> =>
  (await fetch(`${managementUrl}/health/ready`)).status === 200;

describePostgres('the start', () => {
  let url: string;

  beforeEach(async () => {
    url = await freshDatabase();
  });

  const query = (sql: string) => onServer(url, (client) => client.query(sql));

  /** The number of cookies after a POST to a service that is started for it. */
  const countAfterPost = async (environment: Environment = {}): Promise<string | null> => {
    await using service = await startService({ DATABASE_URL: url, LOG_LEVEL: 'silent', ...environment });
    const client = Client.of(service);
    expect((await client.post(COOKIE)).status).toBe(201);
    return (await client.get('/cookies?limit=1')).headers.get('x-total-count');
  };

  it('is stopped by an empty schema with the name of the user, and names both, until the role has chosen one', async () => {
    await countAfterPost();
    await query('CREATE SCHEMA AUTHORIZATION CURRENT_USER');
    await expect(countAfterPost()).rejects.toThrow(
      /its tables are in the schema public, but new ones would be in cookies, .* ALTER ROLE CURRENT_USER SET search_path = "public"/,
    );
    await query('DROP SCHEMA cookies');
    expect(await countAfterPost()).toBe('2');
  });

  it('makes tables in a schema with the name of the user if the table storage after it is of another application', async () => {
    await query('CREATE TABLE storage (path text); CREATE SCHEMA AUTHORIZATION CURRENT_USER');
    expect(await countAfterPost()).toBe('1');
  });

  it('makes triggers that find the tables in a renamed schema', async () => {
    await countAfterPost();
    await query('ALTER SCHEMA public RENAME TO app');
    await setDefault(url, 'search_path = app');
    expect(await countAfterPost()).toBe('2');
  });

  it('names the search path and the remedy if the database has none of its schemas', async () => {
    await query('DROP SCHEMA public');
    await expect(countAfterPost()).rejects.toThrow(
      /no schema of its search_path \("\$user", public\); create one of them, with CREATE SCHEMA/,
    );
    await query('CREATE SCHEMA public');
    expect(await countAfterPost()).toBe('1');
  });

  it('gives the reason of the server and the remedy if a statement takes too long', async () => {
    await setDefault(url, 'statement_timeout = 1');
    await expect(countAfterPost()).rejects.toThrow(
      /did not finish in time \(canceling statement due to statement timeout\); .* raise that limit of the user/,
    );
  });

  it('gives the reason of the server if another session has locked the storage', async () => {
    await countAfterPost();
    await onServer(url, async (client) => {
      await client.query('BEGIN; UPDATE storage SET used = used');
      await expect(countAfterPost({ DATABASE_BUSY_TIMEOUT: '300', COOKIES_CAPACITY: '5' })).rejects.toThrow(
        'could not finish in time (55P03: canceling statement due to lock timeout)',
      );
    });
  });
});

describePostgres('a transaction', () => {
  let dataSource: DataSource;
  let url: string;

  const { service } = sharedService(async () => {
    url = await freshDatabase();
    return {
      DATABASE_URL: url,
      DATABASE_BUSY_TIMEOUT: '400',
      DATABASE_STATEMENT_TIMEOUT: '700',
      DATABASE_TRANSACTION_TIMEOUT: '1000',
      ...POOLS,
    };
  });

  beforeAll(async () => {
    dataSource = service.app.get(DataSource);
    await dataSource.query('CREATE TABLE notes (id bigint PRIMARY KEY, name text UNIQUE)');
    await dataSource.query(`INSERT INTO notes VALUES (1, 'a'), (2, 'b')`);
  });

  it('that the server undoes as a deadlock is run again, so that both succeed', async () => {
    await using patient = await openDataSource({ DATABASE_URL: url });
    await patient.query('CREATE TABLE counters (id int PRIMARY KEY, times int)');
    await patient.query('INSERT INTO counters VALUES (1, 0), (2, 0)');
    let runs = 0;
    let bothHaveALock = (): void => undefined;
    const locked = new Promise<void>((resolve) => (bothHaveALock = resolve));
    const both = (first: number, second: number) =>
      transaction(patient, async (tx) => {
        await tx.sql`SET LOCAL deadlock_timeout = '10ms'`;
        await tx.sql`UPDATE counters SET times = times + 1 WHERE id = ${first}`;
        if (++runs === 2) bothHaveALock();
        await locked;
        await tx.sql`UPDATE counters SET times = times + 1 WHERE id = ${second}`;
      });
    await Promise.all([both(1, 2), both(2, 1)]);
    expect(runs).toBeGreaterThan(2);
    expect(await patient.query('SELECT times FROM counters')).toEqual([{ times: 2 }, { times: 2 }]);
  });

  it('of ordinary code that conflicts with another one is unavailable', async () => {
    const conflicting = dataSource.transaction('REPEATABLE READ', async (manager) => {
      await manager.query('SELECT 1 FROM notes');
      await dataSource.query(`UPDATE notes SET name = name WHERE id = 2`);
      await manager.query(`UPDATE notes SET name = name WHERE id = 2`);
    });
    await expect(conflicting).rejects.toThrow(DatabaseUnavailableError);
  });

  it('finds expired rows, and ids greater than the last given one, by an index', async () => {
    const { dialect } = engineOf(dataSource);
    const conditions = [
      `idempotency_keys WHERE expires <= ${dialect.now}`,
      `rate_limits WHERE ends_at <= ${dialect.now}`,
    ];
    for (const condition of [...conditions, `cookies WHERE id > ${dialect.lastGivenId('cookies')}`]) {
      const plan = await transaction(dataSource, async (tx) => {
        await tx.sql`SET LOCAL enable_seqscan = off`;
        return tx.query(`EXPLAIN SELECT 1 FROM ${condition}`, []);
      });
      expect(JSON.stringify(plan)).toContain('Index Cond');
    }
  });

  it('that waits for a lock longer than DATABASE_BUSY_TIMEOUT is unavailable, and its connection is used again', async () => {
    const runner = dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.query('UPDATE notes SET name = $1 WHERE id = 1', ['held']);
    const rename = () => transaction(dataSource, (tx) => tx.sql`UPDATE notes SET name = 'late' WHERE id = 1`);
    // The lock's own time-out is the cause, not the time-out of the statement or of the transaction.
    await expect(rename()).rejects.toMatchObject(unavailable(LOCK_NOT_AVAILABLE));
    await expect(dataSource.query('SELECT 1')).resolves.toBeDefined();
    await runner.rollbackTransaction();
    await runner.release();
    await rename();
    expect(await connectionsTo(url)).toBeLessThanOrEqual(7);
  });

  it('whose statement exceeds DATABASE_STATEMENT_TIMEOUT is unavailable', async () => {
    const sleeping = transaction(dataSource, (tx) => tx.sql`SELECT pg_sleep(5)`);
    await expect(sleeping).rejects.toMatchObject(unavailable(QUERY_CANCELED));
    await expect(dataSource.query('SELECT pg_sleep(5)')).rejects.toThrow(DatabaseUnavailableError);
  });

  it('has its time-outs at the server as well, in milliseconds, and leaves none behind on its connection', async () => {
    const LIMITS = `SELECT current_setting('lock_timeout') AS lock, current_setting('statement_timeout') AS statement,
      current_setting('idle_in_transaction_session_timeout') AS idle`;
    const limits = { lock: '400ms', statement: '700ms', idle: '1s' };
    expect(await transaction(dataSource, (tx) => tx.query(LIMITS, []))).toEqual([limits]);
    expect(await dataSource.transaction((manager) => manager.query(LIMITS))).toEqual([limits]);
    const list = await openSnapshot(dataSource);
    expect(await list.query(LIMITS, [])).toEqual([{ ...limits, idle: '301s' }]);
    list.close();
    expect(await dataSource.query(LIMITS)).toEqual([{ lock: '0', statement: '0', idle: '0' }]);
  });

  it('leaves no session behind that waits for the lock of an operator, after reads without a transaction have failed', async () => {
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await onServer(url, async (operator) => {
      await operator.query('BEGIN; LOCK TABLE notes');
      const reads = [1, 2, 3].map((id) => dataSource.query('SELECT name FROM notes WHERE id = $1', [id]));
      for (const read of reads) await expect(read).rejects.toThrow(DatabaseUnavailableError);
      await until(async () => (await operator.query(waiting)).rowCount === 0, 'sessions still wait', 5000);
      await operator.query('ROLLBACK');
    });
  });

  it('that holds a connection, like all others, does not delay a check of the database', async () => {
    const runners = Array.from({ length: 4 }, () => dataSource.createQueryRunner());
    await Promise.all(runners.map((runner) => runner.startTransaction()));
    const none = { name: 'DatabaseUnavailableError', message: 'No connection to the database was free within 400 ms' };
    await expect(dataSource.query('SELECT 1')).rejects.toMatchObject(none);
    await expect(engineOf(dataSource).check()).resolves.toBeUndefined();
    for (const runner of runners) {
      await runner.rollbackTransaction();
      await runner.release();
    }
  });

  it('beside a list is invisible to the list; each list connection can serve one list at a time', async () => {
    const read = (list: Snapshot) => list.sql<{ name: string }[]>`SELECT name FROM notes WHERE id = 2`;
    using list = await openSnapshot(dataSource);
    expect(await read(list)).toEqual([{ name: 'b' }]);
    await transaction(dataSource, (tx) => tx.sql`UPDATE notes SET name = 'later' WHERE id = 2`);
    expect(await read(list)).toEqual([{ name: 'b' }]);
    using second = await openSnapshot(dataSource);
    expect(await read(second)).toEqual([{ name: 'later' }]);
    await expect(openSnapshot(dataSource)).rejects.toThrow('No connection to the database was free within 400 ms');
    await transaction(dataSource, (tx) => tx.sql`UPDATE notes SET name = 'b' WHERE id = 2`);
  });

  it('is logged when a statement of it takes longer than 200 ms, like any slow statement, without parameters', async () => {
    const warnings = await warningsDuring(async () => {
      await transaction(dataSource, (tx) => tx.sql`SELECT pg_sleep(0.25), ${'personal'}::text AS lean`);
      await dataSource.query('SELECT pg_sleep(0.25), $1::text AS ordinary', ['personal']);
      await dataSource.query('SELECT 1 AS quick');
    });
    // On a busy machine, a COMMIT may be slow, too.
    expect(warnings.filter((warning) => !warning.includes('COMMIT'))).toEqual([
      expect.stringMatching(/^A statement took \d{3,5} ms: SELECT pg_sleep\(0\.25\), \$1::text AS lean$/),
      expect.stringMatching(/^A statement took \d{3,5}(\.\d+)? ms: SELECT pg_sleep\(0\.25\), \$1::text AS ordinary$/),
    ]);
  });

  it('that pauses for longer than DATABASE_TRANSACTION_TIMEOUT is rolled back', async () => {
    const hanging = transaction(dataSource, async (tx) => {
      await tx.sql`UPDATE notes SET name = 'hanging' WHERE id = 2`;
      await sleep(1300);
      await tx.sql`SELECT 1`;
    });
    const inTypeOrm = dataSource.transaction(async (manager) => {
      await manager.query(`UPDATE notes SET name = 'pausing' WHERE id = 1`);
      await sleep(1300);
      await manager.query('SELECT 1');
    });
    const busy = { name: 'DatabaseUnavailableError', kind: 'busy' };
    for (const { reason } of (await Promise.allSettled([hanging, inTypeOrm])) as PromiseRejectedResult[]) {
      expect(reason).toMatchObject({ ...busy, message: expect.stringMatching(/paused for too long/) });
    }
    expect(await dataSource.query(`SELECT name FROM notes WHERE name IN ('hanging', 'pausing')`)).toEqual([]);
  });

  it('that exceeds the transaction_timeout of its server says so', async () => {
    const [{ version }] = await dataSource.query(`SELECT current_setting('server_version_num')::int AS version`);
    // Older servers do not have this setting.
    if (version < 170_000) return;
    const exceeding = transaction(dataSource, async (tx) => {
      await tx.sql`SET LOCAL transaction_timeout = 100`;
      await sleep(300);
      await tx.sql`SELECT 1`;
    });
    const message = expect.stringContaining('transaction_timeout');
    await expect(exceeding).rejects.toMatchObject({ name: 'DatabaseUnavailableError', kind: 'busy', message });
  });

  it('in which a statement failed is not committed, though the failure was overlooked', async () => {
    const overlook = async (query: (sql: string) => Promise<unknown>): Promise<void> => {
      await query(`UPDATE notes SET name = 'overlooked' WHERE id = 2`);
      await query(`INSERT INTO notes VALUES (2, 'twice')`).catch(() => undefined);
    };
    const lean = transaction(dataSource, (tx) => overlook((sql) => tx.query(sql, [])));
    await expect(lean).rejects.toThrow('transaction is aborted');
    const ofTypeOrm = dataSource.transaction((manager) => overlook((sql) => manager.query(sql)));
    await expect(ofTypeOrm).rejects.toThrow('transaction is aborted');
    expect(await dataSource.query('SELECT name FROM notes WHERE id = 2')).toEqual([{ name: 'b' }]);
  });
});

describePostgres('a user that loses a right to the table', () => {
  it('makes requests 503 with Retry-After, until the user has the right again', async () => {
    const owners = await freshDatabase();
    const user = `limited_${process.pid}`;
    const atServer = (sql: string) => onServer(owners, (session) => session.query(sql));
    await (await startService({ DATABASE_URL: owners })).stop();
    await atServer(`CREATE ROLE ${user} LOGIN PASSWORD 'limited';
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${user};
      GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ${user}`);
    const { href } = Object.assign(new URL(owners), { username: user, password: 'limited' });
    await using service = await startService({ DATABASE_URL: href, LOG_LEVEL: 'silent', LIST_CACHE_BYTES: '0' });
    const client = Client.of(service);
    const responses = async () => {
      const all = [await client.post(COOKIE), await client.get('/cookies/1'), await client.get('/cookies')];
      return all.map(({ status, headers }) => [status, headers.get('retry-after')]);
    };
    const expected = [201, 200, 200].map((status) => [status, null]);
    expect(await responses()).toEqual(expected);
    await atServer(`REVOKE ALL ON cookies FROM ${user}`);
    expect(await responses()).toEqual(Array(3).fill([503, '1']));
    await atServer(`GRANT SELECT, INSERT ON cookies TO ${user}`);
    expect(await responses()).toEqual(expected);
    await service.stop();
    await atServer(`DROP OWNED BY ${user}; DROP ROLE ${user}`);
  });
});

describePostgres('a server', () => {
  // Defaults that would lose acknowledged commits, hide that a standby has not confirmed one, or stop triggers.
  const server = shared(() =>
    PostgresServer.create({
      synchronous_commit: 'off',
      client_min_messages: 'error',
      session_replication_role: 'replica',
    }),
  );
  let url: string;

  beforeAll(() => {
    url = server.url();
  });

  /** The message of a failed start; without a failure, whether connections are encrypted. */
  const start = async (DATABASE_URL: string, DATABASE_SSL_CA?: string): Promise<string> => {
    const source = await openDataSource({ DATABASE_URL, DATABASE_SSL_CA }).catch((error: Error) => error);
    if (source instanceof Error) {
      expect(source.name).toBe('DatabaseStartError');
      return source.message;
    }
    const [row] = await source.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
    await source.destroy();
    return row.ssl ? 'encrypted' : 'plain';
  };

  it('whose sessions fire no triggers by default fires them for the service', async () => {
    const service = await startService({ DATABASE_URL: url, COOKIES_CAPACITY: '1' });
    const client = Client.of(service);
    expect([await client.post(COOKIE), await client.post(COOKIE)].map(({ status }) => status)).toEqual([201, 507]);
    await service.stop();
    await onServer(url, (session) => session.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public'));
  });

  describe('named wrongly', () => {
    it.each<[string, (url: URL) => void, string]>([
      ['host', (wrong) => (wrong.hostname = 'nowhere.invalid'), 'host name is not known'],
      ['port', (wrong) => (wrong.port = '1'), 'nothing listens there'],
      ['password', (wrong) => (wrong.password = 'hunter2'), 'correct user and password'],
      ['user', (wrong) => (wrong.username = 'nobody'), 'correct user and password'],
      ['database', (wrong) => (wrong.pathname = '/nothing'), 'has no such database'],
      ['sslmode', (wrong) => (wrong.search = '?sslmode=require'), 'does not speak TLS'],
    ])('says that the %s is wrong, in one line and without the password', async (_what, harm, hint) => {
      const wrong = new URL(url);
      harm(wrong);
      const message = await start(wrong.href);
      expect(message).toContain(hint);
      expect(message).not.toMatch(/\n|hunter2|secret/);
    });

    it('reports that a database in another encoding cannot be used', async () => {
      const create = `CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`;
      await onServer(url, (client) => client.query(create));
      expect(await start(server.url('latin'))).toContain('LATIN1');
    });

    it('reports a limit of connections as such', async () => {
      await onServer(url, (client) => client.query(`CREATE ROLE idle LOGIN PASSWORD 'p' CONNECTION LIMIT 0`));
      const limited = Object.assign(new URL(url), { username: 'idle', password: 'p' });
      expect(await start(limited.href)).toContain('raise that limit, or lower DATABASE_POOL_SIZE');
    });

    it('reports that the server requires TLS, a password or a line of pg_hba.conf', async () => {
      const bare = new URL(url);
      bare.password = '';
      expect(await start(bare.href)).toContain('requires a password');
      server.replace('pg_hba.conf', 'hostssl encrypted all all scram-sha-256\nhost postgres all all scram-sha-256\n');
      await onServer(url, (client) => client.query('SELECT pg_reload_conf()'));
      const encrypted = server.url('encrypted');
      await until(async () => (await start(encrypted)).includes('sslmode=verify-full'), 'TLS is required');
      expect(await start(server.url('unlisted'))).toContain('its pg_hba.conf does not admit the connection');
    });
  });

  describe('under load', () => {
    let service: Service;

    beforeEach(async () => {
      await server.start();
      service = await startService({ DATABASE_URL: url, COOKIES_CAPACITY: '1000000', ...POOLS });
    });

    afterEach(async () => {
      await service.stop();
      await onServer(url, (client) => client.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public'));
    });

    it('that is killed and started again loses no acknowledged record, and leaves no connections behind', async () => {
      const ledger = new Ledger();
      const stopping = new AbortController();
      const load = writeUntil(stopping.signal, service, ledger);
      await until(() => ledger.acknowledged.size > 100, 'clients write');
      await server.crash();
      await until(async () => !(await isReady(service)), 'the service is not ready');
      const { status, headers } = await Client.of(service).get('/cookies/1');
      expect([status, headers.get('retry-after')]).toEqual([503, '1']);
      expect((await fetch(`${service.managementUrl}/health/live`)).status).toBe(200);
      await server.start();
      await until(() => isReady(service), 'the service is ready again', 10_000);
      const before = ledger.acknowledged.size;
      await until(() => ledger.acknowledged.size > before + 100, 'clients write again');
      stopping.abort();
      await load;
      expect(ledger.answered(/unknown|500/)).toBe(0);
      expect(ledger.answered(/503/)).toBeGreaterThan(0);
      expectKeptIn(await storedOn(url), ledger);
      expect(await connectionsTo(url)).toBeLessThanOrEqual(7);
    });

    it('that was told not to wait for its standby any more gets nothing acknowledged', async () => {
      const client = Client.of(service);
      await onServer(url, async (session) => {
        await session.query(`ALTER SYSTEM SET synchronous_standby_names = 'nobody'`);
        await session.query('SELECT pg_reload_conf()');
        try {
          await sleep(200);
          const waiting = [client.post(COOKIE), service.app.get(DataSource).query('CREATE TABLE notes (id int)')];
          let settled = false;
          const outcomes = Promise.allSettled(waiting).finally(() => (settled = true));
          await until(async () => {
            await session.query(`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`);
            return settled;
          }, 'both writes have an outcome');
          const [post, statement] = await outcomes;
          expect(post).toMatchObject({ value: { status: 503, body: { errorCode: 'OUTCOME_UNKNOWN' } } });
          expect(statement).toMatchObject({ reason: expect.any(OutcomeUnknownError) });
        } finally {
          await session.query('ALTER SYSTEM RESET synchronous_standby_names');
          await session.query('SELECT pg_reload_conf()');
        }
      });
      expect((await client.post(COOKIE)).status).toBe(201);
    });
  });

  (canMakeCertificates ? describe : describe.skip)('with TLS', () => {
    let certificate: string;

    beforeAll(async () => {
      await server.stop();
      const files = makeCertificate(server.folder);
      certificate = readFileSync(files.certificate, 'utf8');
      server.write('server.key', readFileSync(files.key, 'utf8'), 0o600);
      server.write('server.crt', certificate);
      chmodSync(join(server.folder, 'data/server.key'), 0o600);
      server.configure({ ssl: 'on' });
      await server.start();
    });

    const startAt = (host: string, sslMode: string, ca?: string): Promise<string> =>
      start(`${url.replace('127.0.0.1', host)}?sslmode=${sslMode}`, ca);

    it('is used with the encryption of sslmode', async () => {
      expect(await startAt('127.0.0.1', 'disable')).toBe('plain');
      expect(await startAt('127.0.0.1', 'require')).toBe('encrypted');
      expect(await startAt('127.0.0.1', 'verify-ca', certificate)).toBe('encrypted');
      // The form of a PEM in an environment file.
      expect(await startAt('127.0.0.1', 'verify-ca', certificate.replaceAll('\n', '\\n'))).toBe('encrypted');
      expect(await startAt('localhost', 'verify-full', certificate)).toBe('encrypted');
    });

    it('is rejected when its certificate is not trusted, or names another host', async () => {
      expect(await startAt('localhost', 'verify-full')).toContain('DATABASE_SSL_CA_FILE');
      expect(await startAt('127.0.0.1', 'verify-ca')).toContain('not trusted');
      expect(await startAt('127.0.0.1', 'verify-full', certificate)).toMatch(/names another host .* correct the host/);
    });

    it('is rejected when its certificate has expired, which another authority would not change', async () => {
      const [crt, key] = ['server.crt', 'server.key'].map((name) => join(server.folder, 'data', name));
      const args = ['x509', '-in', crt!, '-signkey', key!, '-days', '-1', '-out', crt!];
      execFileSync('openssl', args, { stdio: 'ignore' });
      await server.stop();
      await server.start();
      const message = await startAt('localhost', 'verify-full', readFileSync(crt!, 'utf8'));
      expect(message).toMatch(/not valid now .* renew it/);
    });

    it('is rejected when it requires a certificate of the client', async () => {
      const method = 'all all all scram-sha-256';
      server.replace('pg_hba.conf', `hostnossl ${method}\nhostssl ${method} clientcert=verify-ca\n`);
      server.configure({ ssl_ca_file: 'server.crt' });
      await server.stop();
      await server.start();
      expect(await startAt('127.0.0.1', 'require')).toMatch(/requires a certificate of the client, .* clientcert/);
    });
  });
});
