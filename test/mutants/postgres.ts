import type { Mutant } from './program/mutant.js';

const CONNECTIONS = ['test/database/postgres-connections.e2e-spec.ts'];
const FAILOVER = ['test/database/failover.e2e-spec.ts'];
const POSTGRES = ['test/database/postgres.e2e-spec.ts'];
const OPEN = ['test/database/open-transactions.e2e-spec.ts'];

const BROKEN = 'a pooled connection that turns out to be broken';
const LOST = 'a response to COMMIT that is lost';
const TRANSACTION = '^a transaction ';

const mutants: readonly Mutant[] = [
  {
    id: 'standby-is-taken-for-the-primary',
    file: 'src/database/postgres/connections/connection-pool.ts',
    replace: `if (rows[0]?.transaction_read_only === 'off') return;`,
    by: `if (rows[0]?.transaction_read_only !== undefined) return;`,
    breaks: 'Of several hosts only the primary is used, whichever is named first.',
    specs: FAILOVER,
  },
  {
    id: 'old-primary-is-read',
    file: 'src/database/postgres/connections/connection-pool.ts',
    replace: 'if (client.generation === this.hosts.generation) return client;',
    by: 'if (client.generation <= this.hosts.generation) return client;',
    breaks: 'Connections to an old primary are not used again, not even for reads.',
    specs: FAILOVER,
  },
  {
    id: 'transactions-are-not-repeated',
    file: 'src/database/postgres/postgres-driver.ts',
    replace: 'return isConflict(cause) || (isConnectionFailure(cause) && !isTimeout(cause));',
    by: 'return isConflict(cause);',
    breaks: 'A transaction whose connection broke before COMMIT is run again.',
    specs: CONNECTIONS,
    tests: BROKEN,
  },
  {
    id: 'lost-commit-is-sent-again',
    file: 'src/database/postgres/postgres-driver.ts',
    replace: `    await transaction.commit();
    return [result];`,
    by: `    try {
      await transaction.commit();
    } catch (error) {
      return [undefined, { error, cause: (error as Error).cause }];
    }
    return [result];`,
    breaks: 'A transaction whose response to COMMIT was lost is never run again: it would be stored twice.',
    specs: CONNECTIONS,
    tests: LOST,
  },
  {
    id: 'lost-commit-may-be-repeated-by-the-client',
    file: 'src/database/postgres/postgres-transaction.ts',
    replace: `throw outcomeUnknown(error) ?? explained(error, 'COMMIT', []);`,
    by: `throw explained(error, 'COMMIT', []);`,
    breaks: 'A POST whose response to COMMIT was lost is OUTCOME_UNKNOWN, not a 503 that invites to try again.',
    specs: CONNECTIONS,
    tests: LOST,
  },
  {
    id: 'limits-outlive-the-transaction',
    file: 'src/database/postgres/postgres-transaction.ts',
    replace: 'SET LOCAL lock_timeout',
    by: 'SET lock_timeout',
    breaks: 'The time-outs of a transaction end with it: behind a pooler another client has its session then.',
    specs: POSTGRES,
    tests: TRANSACTION,
  },
  {
    id: 'overlooked-failure-is-acknowledged',
    file: 'src/database/postgres/postgres-transaction.ts',
    replace: `export const COMMIT = 'SET LOCAL statement_timeout = 0; COMMIT';`,
    by: `export const COMMIT = 'COMMIT';`,
    breaks: 'A transaction in which a statement failed is not acknowledged.',
    specs: POSTGRES,
    tests: TRANSACTION,
  },
  {
    id: 'open-transaction-goes-to-the-next-caller',
    file: 'src/database/postgres/connections/connection-pool.ts',
    replace: 'if (mustClose || client.isIdle) this.release(client, mustClose);\n    else void this.reset(client);',
    by: 'this.release(client, mustClose);',
    breaks: 'A connection with an open transaction never goes to the next caller.',
    specs: OPEN,
  },
  {
    id: 'unconfirmed-commit-is-acknowledged',
    file: 'src/database/postgres/postgres-sql.ts',
    replace: '    if (client.takeUnconfirmed()) throw new OutcomeUnknownError(UNCONFIRMED);\n',
    by: '',
    breaks: 'A commit that no standby has confirmed is not acknowledged.',
    specs: POSTGRES,
    tests: 'not to wait for its standby',
  },
  {
    id: 'lists-take-the-connections-of-writes',
    file: 'src/database/postgres/postgres-driver.ts',
    replace: 'PostgresTransaction.begin(this.pools.lists, begin, this.slow)',
    by: 'PostgresTransaction.begin(this.pools.ordinary, begin, this.slow)',
    breaks: 'Slow readers of lists keep nobody from anything else.',
    specs: POSTGRES,
    tests: 'beside a list',
  },
  {
    id: 'list-sees-later-commits',
    file: 'src/database/postgres/postgres-driver.ts',
    replace: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
    by: 'BEGIN READ ONLY',
    breaks: 'A list shows one state, whatever is written while it is read.',
    specs: POSTGRES,
    tests: 'beside a list',
  },
  {
    id: 'migrations-without-a-lock',
    file: 'src/database/postgres/postgres-query-runner.ts',
    replace: '; SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`',
    by: '; SELECT ${MIGRATION_LOCK}`',
    breaks: 'Of several that migrate at once one does, and the others find it done.',
    specs: ['test/on-postgres/migrations.e2e-spec.ts'],
    tests: 'several that migrate together',
  },
  {
    id: 'ids-in-32-bits',
    file: 'src/database/postgres/portable-columns.ts',
    replace: `return 'bigint';`,
    by: 'return type;',
    breaks: 'Ids, and what entities call `integer`, have 64 bits as on SQLite.',
    specs: ['test/ordinary-code/types.e2e-spec.ts'],
    tests: 'goes beyond 2\\^31',
  },
  {
    id: 'records-are-read-without-a-lock',
    file: 'src/database/postgres/postgres-driver.ts',
    replace: 'forUpdate: (table) => ` FOR UPDATE OF ${table}`,',
    by: `forUpdate: () => '',`,
    breaks: 'Of those that change the same version of a record one succeeds.',
    specs: POSTGRES,
    tests: 'three replicas',
  },
];

export default mutants;
