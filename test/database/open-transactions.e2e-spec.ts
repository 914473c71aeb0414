import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { QueryRunner } from 'typeorm';
import { ConnectionLostError } from '../../src/database/errors.js';
import { createDatabase, describePostgres } from '../support/engine.js';
import { onServer } from '../support/postgres/postgres-server.js';
import { openDataSource } from '../support/data-source.js';
import { shared } from '../support/shared.js';
import { until } from '../support/until.js';

const LEAKS = 300;
const CALLERS = 32;

/** Leaves a transaction open on the runner, as careless code does. */
type Leak = (runner: QueryRunner, index: number) => Promise<unknown>;

const insert = (runner: QueryRunner, name: string) => runner.query('INSERT INTO notes (name) VALUES ($1)', [name]);

const LEAKS_OF_CODE: Leak[] = [
  async (runner, index) => {
    await runner.query('BEGIN');
    await insert(runner, `leaked ${index}`);
  },
  async (runner, index) => {
    await runner.query('/* traced */ begin;');
    await insert(runner, `leaked ${index}`);
    await insert(runner, 'taken').catch(() => undefined);
  },
  async (runner) => {
    await runner.query('START TRANSACTION ISOLATION LEVEL REPEATABLE READ');
    await runner.query('SELECT 1/0');
  },
  async (runner, index) => {
    await runner.startTransaction();
    await insert(runner, `leaked ${index}`);
  },
  async (runner, index) => {
    await runner.query('BEGIN');
    // Not awaited, so that it is in flight when the runner is released.
    void insert(runner, `leaked ${index}`).catch(() => undefined);
  },
];

describePostgres('a query runner that is released inside an open transaction', () => {
  let url: string;
  let warnings: string[];

  const dataSource = shared(async () => {
    url = await createDatabase(`open_transactions_${process.pid}`);
    const times = { DATABASE_BUSY_TIMEOUT: '20000', DATABASE_TRANSACTION_TIMEOUT: '2000' };
    return openDataSource({ DATABASE_URL: url, DATABASE_POOL_SIZE: '8', ...times });
  });

  beforeAll(async () => {
    await dataSource.query('CREATE TABLE notes (id serial PRIMARY KEY, name text UNIQUE)');
    await dataSource.query(`INSERT INTO notes (name) VALUES ('taken')`);
  });

  beforeEach(() => {
    warnings = [];
    const warn = (message: string) => warnings.push(message);
    Logger.overrideLogger({ log: () => undefined, error: () => undefined, warn });
  });

  const stored = (): Promise<string[]> =>
    onServer(url, async (client) => {
      const { rows } = await client.query<{ name: string }>('SELECT name FROM notes');
      return rows.map(({ name }) => name);
    });

  const leak = async (index: number): Promise<void> => {
    const runner = dataSource.createQueryRunner();
    try {
      await LEAKS_OF_CODE[index % LEAKS_OF_CODE.length]!(runner, index);
    } catch {
      // Like a handler whose request has failed.
    } finally {
      await runner.release();
    }
  };

  it(`loses no acknowledged write of ${CALLERS} callers beside ${LEAKS} leaking ones`, async () => {
    const acknowledged: string[] = [];
    let leaking = true;
    const write = async (caller: number): Promise<void> => {
      for (let round = 0; leaking; round++) {
        const name = `caller ${caller} round ${round}`;
        await dataSource.query('INSERT INTO notes (name) VALUES ($1)', [name]);
        acknowledged.push(name);
      }
    };
    const callers = Array.from({ length: CALLERS }, (_, caller) => write(caller));
    for (let index = 0; index < LEAKS; index += 20) {
      await Promise.all(Array.from({ length: 20 }, (_, next) => leak(index + next)));
    }
    leaking = false;
    await Promise.all(callers);
    const names = new Set(await stored());
    expect(acknowledged.length).toBeGreaterThan(LEAKS);
    expect(acknowledged.filter((name) => !names.has(name))).toEqual([]);
    expect([...names].filter((name) => name.startsWith('leaked'))).toEqual([]);
    expect(warnings.filter((line) => line.includes('released inside an open transaction'))).toHaveLength(LEAKS);
  });

  it('rejects BEGIN through dataSource.query before anything is sent', async () => {
    const begins = ['BEGIN', 'begin;', '-- traced\nSTART TRANSACTION', "BEGIN; INSERT INTO notes (name) VALUES ('x')"];
    for (const sql of [...begins, 'COMMIT', 'ROLLBACK', 'SAVEPOINT s']) {
      await expect(dataSource.query(sql)).rejects.toThrow('dataSource.transaction(...)');
      await expect(dataSource.manager.query(sql)).rejects.toThrow('dataSource.transaction(...)');
    }
    expect(await stored()).not.toContain('x');
    expect(warnings).toEqual([]);
  });

  it('rejects a COMMIT by SQL that the server would turn into a ROLLBACK after an overlooked failure', async () => {
    const runner = dataSource.createQueryRunner();
    await runner.query('BEGIN');
    await insert(runner, 'overlooked');
    await insert(runner, 'taken').catch(() => undefined);
    await expect(runner.query('commit')).rejects.toThrow('transaction is aborted');
    await runner.release();
    expect(await stored()).not.toContain('overlooked');
  });

  it('logs the end of a forgotten transaction whose runner was not released', async () => {
    const runner = dataSource.createQueryRunner();
    await runner.startTransaction();
    await until(() => warnings.length > 0, 'a warning');
    expect(warnings).toEqual(['The transaction paused for too long and was rolled back']);
    await runner.release();
  });

  it('gives its connection back if it is released while it connects, or twice', async () => {
    for (let runners = 0; runners < 16; runners++) {
      const runner = dataSource.createQueryRunner();
      if (runners % 2 === 0) void runner.connect();
      else void runner.query('SELECT pg_sleep(0.01)');
      await Promise.all([runner.release(), runner.release()]);
    }
    await expect(dataSource.query('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
    expect(warnings).toEqual([]);
  });

  it('does not continue on another connection when its connection breaks in a transaction begun by SQL', async () => {
    const runner = dataSource.createQueryRunner();
    await runner.query('BEGIN');
    await insert(runner, 'before the break');
    const [{ pid }] = await runner.query('SELECT pg_backend_pid() AS pid');
    await onServer(url, (client) => client.query('SELECT pg_terminate_backend($1)', [pid]));
    await sleep(100);
    await expect(runner.query('SELECT 1')).rejects.toThrow(ConnectionLostError);
    await expect(runner.manager.query('SELECT 1')).rejects.toThrow(ConnectionLostError);
    await expect(insert(runner, 'after the break')).rejects.toThrow(ConnectionLostError);
    await expect(runner.query('COMMIT')).rejects.toThrow(ConnectionLostError);
    await runner.release();
    expect((await stored()).filter((name) => name.includes('break'))).toEqual([]);
  });
});
