import { once } from 'node:events';
import { UnsafeIntegerError } from '../../src/database/errors.js';
import { describePostgres, provideDatabase, usePostgres } from '../support/engine.js';
import { openDataSource } from '../support/data-source.js';
import { temporaryFolder } from '../support/service.js';
import { shared } from '../support/shared.js';
import { until } from '../support/until.js';

usePostgres();

describePostgres('the shared connections on PostgreSQL', () => {
  const dataSource = shared(async () => {
    const folder = temporaryFolder();
    await provideDatabase(folder);
    return openDataSource({ DATABASE_POOL_SIZE: '2', DATABASE_TRANSACTION_TIMEOUT: '1000' }, [], folder);
  });

  beforeAll(async () => {
    for (const table of ['templates', 'temp']) await dataSource.query(`CREATE TABLE ${table} (id integer)`);
  });

  it.each([
    ...["SET search_path TO 'nowhere'", '/* traced */ SET SESSION statement_timeout = 1', 'RESET ALL', 'LISTEN news'],
    ...["SELECT set_config('statement_timeout', '1', false)", 'SELECT pg_advisory_lock(1)', 'PREPARE plan AS SELECT 1'],
    ...['SELECT pg_try_advisory_lock_shared(1)', 'CREATE TEMP TABLE cookies (id integer)'],
    ...['CREATE LOCAL TEMPORARY TABLE cookies (id integer)', 'SELECT 1 AS one INTO TEMP ones'],
    'DECLARE c CURSOR WITH HOLD FOR SELECT 1',
  ])('are not changed by %s outside a transaction', async (sql) => {
    await expect(dataSource.query(sql)).rejects.toThrow('dataSource.transaction(...), or your own query runner');
    await expect(dataSource.manager.query(sql)).rejects.toThrow('SET LOCAL');
  });

  it.each([
    ...['SET LOCAL lock_timeout = 7', "SELECT set_config('lock_timeout', '7', true)"],
    ...['SELECT pg_advisory_xact_lock(3)', "SELECT 'SET x = 1; pg_advisory' AS text"],
    ...['INSERT INTO templates VALUES (1)', 'INSERT INTO temp VALUES (1)'],
  ])('accept %s', async (sql) => {
    await dataSource.query(sql);
    expect(await settings()).toEqual(['0']);
  });

  /** The distinct values on the connections of the pool. */
  async function settings(): Promise<string[]> {
    const values = await Promise.all(
      Array.from({ length: 12 }, () => dataSource.query<{ lock_timeout: string }[]>('SHOW lock_timeout')),
    );
    return [...new Set(values.map(([row]) => row!.lock_timeout))];
  }

  it('keep no setting and no temporary table of a query runner or a transaction', async () => {
    const runner = dataSource.createQueryRunner();
    await runner.query('SET lock_timeout = 7');
    await runner.query('CREATE TEMP TABLE kept (id integer)');
    expect(await runner.query('SHOW lock_timeout')).toEqual([{ lock_timeout: '7ms' }]);
    expect(await runner.query('SELECT count(*) AS number FROM kept')).toEqual([{ number: 0 }]);
    await runner.release();
    await dataSource.transaction((manager) => manager.query('SET lock_timeout = 8'));
    expect(await settings()).toEqual(['0']);
    await expect(dataSource.query('SELECT * FROM kept')).rejects.toThrow('does not exist');
  });

  it('give up the lock of a session when its query runner is released', async () => {
    const [one, other] = [dataSource.createQueryRunner(), dataSource.createQueryRunner()];
    await one.query('SELECT pg_advisory_lock(42)');
    await one.release();
    // The server notices the end of a connection with a delay.
    await until(
      async () => (await other.query('SELECT pg_try_advisory_lock(42) AS locked'))[0].locked as boolean,
      'the lock is free',
    );
    await other.release();
  });

  it('accept no statement with more parameters than the protocol can count, and name the limit', async () => {
    const many = Array.from({ length: 65_536 }, (_, index) => index);
    const sql = `SELECT ${many.length} AS length WHERE 1 IN (${many.map((_, index) => `$${index + 1}::integer`).join()})`;
    const message = 'The statement has 65536 parameters, and PostgreSQL takes 65535';
    await expect(dataSource.query(sql, many)).rejects.toThrow(message);
    await expect(dataSource.transaction((manager) => manager.query(sql, many))).rejects.toThrow(message);
    // The statement counts as a write, for which a lost response would be an unknown outcome.
    const tooFew = dataSource.query('VALUES ($1::integer, $2::integer)', [1]);
    await expect(tooFew).rejects.toThrow(expect.objectContaining({ name: 'QueryFailedError', code: '08P01' }));
    expect(await dataSource.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('read arrays of integers as they read integers', async () => {
    const [row] = await dataSource.query<object[]>(
      `SELECT '{{1,NULL},{2,3}}'::bigint[] AS numbers, '{}'::bigint[] AS none`,
    );
    expect(row).toEqual({
      numbers: [
        [1, null],
        [2, 3],
      ],
      none: [],
    });
    const unsafe = 'SELECT ARRAY[1, 9007199254740993] AS numbers';
    await expect(dataSource.query(unsafe)).rejects.toBeInstanceOf(UnsafeIntegerError);
  });

  it('stream rows, and end the stream with an error at an integer beyond 2^53 - 1', async () => {
    const runner = dataSource.createQueryRunner();
    const numbers = 'SELECT n::bigint AS n FROM generate_series(9007199254740990, $1::bigint) AS n';
    const rows: unknown[] = [];
    for await (const row of await runner.stream(numbers, ['9007199254740991'])) rows.push(row);
    expect(rows).toEqual([{ n: 9007199254740990 }, { n: 9007199254740991 }]);
    const onError = new Promise<Error>((resolve) => {
      void runner.stream(numbers, ['9007199254740999'], undefined, resolve).then((stream) => stream.resume());
    });
    expect(await onError).toBeInstanceOf(UnsafeIntegerError);
    await runner.release();
    const other = dataSource.createQueryRunner();
    const ended = await other.stream('SELECT 1 AS one');
    ended.resume();
    await once(ended, 'end');
    await expect(other.query('SELECT 9007199254740999::bigint')).rejects.toBeInstanceOf(UnsafeIntegerError);
    await other.release();
  });

  it('return to the pool when the transaction of a query runner that is never released has taken too long', async () => {
    const forgotten = [dataSource.createQueryRunner(), dataSource.createQueryRunner()];
    for (const runner of forgotten) await runner.startTransaction();
    expect(await dataSource.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    const [late] = forgotten;
    await expect(late!.query('SELECT 1')).rejects.toThrow('paused for too long');
    await late!.release();
    expect(await dataSource.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('return to the pool when the stream of a query builder is destroyed, as when a client leaves a download', async () => {
    const numbers = dataSource.createQueryBuilder().select('n').from('generate_series(1, 1000)', 'n');
    for (let download = 0; download < 3; download++) (await numbers.clone().stream()).destroy();
    expect(await dataSource.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});
