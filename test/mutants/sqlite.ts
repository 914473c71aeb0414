import type { Mutant } from './program/mutant.js';

const COMMITS = ['test/database/group-commit.e2e-spec.ts'];
const DATA_LAYER = ['test/database/data-layer.e2e-spec.ts'];
const FAULTS = ['test/database/faults.e2e-spec.ts'];
const FULL = ['test/database/full-disk.e2e-spec.ts'];
const LARGE_WAL = ['test/database/large-wal.e2e-spec.ts'];
const MIGRATIONS = ['test/database/migrations.e2e-spec.ts'];

const LOCKED = 'while another process holds the lock';
const SNAPSHOT = 'snapshot';
const TAKEN_AWAY = 'taken away while the service runs';

const mutants: readonly Mutant[] = [
  {
    id: 'close-does-not-wait-for-writes',
    file: 'src/database/sqlite/sqlite-driver.ts',
    replace: '    await this.writer.close();\n',
    by: '    void this.writer.close();\n',
    breaks: 'The file is closed after the writes that are in flight, which are acknowledged and on disk.',
    specs: COMMITS,
  },
  {
    id: 'batch-of-any-size',
    file: 'src/database/sqlite/writing/group-commit.ts',
    replace: 'size >= LARGEST_BATCH || ',
    by: '',
    breaks: 'A failed commit fails at most 500 writes.',
    specs: COMMITS,
  },
  {
    id: 'statement-is-acknowledged-before-the-commit',
    file: 'src/database/sqlite/writing/writer.ts',
    replace: '            this.group.add({ reclaimsSpace, done: () => resolve(result), fail: reject });',
    by: `            resolve(result);
            this.group.add({ reclaimsSpace, done: () => undefined, fail: reject });`,
    breaks: 'A write is acknowledged when it is on disk, not before its commit.',
    specs: COMMITS,
  },
  {
    id: 'failed-commit-is-no-unknown-outcome',
    file: 'src/database/sqlite/writing/group-commit.ts',
    replace: 'const isUnknown = !this.connection.inTransaction && !isFull(error);',
    by: 'const isUnknown = false;',
    breaks: 'A commit that failed, and may be found in the file all the same, is OUTCOME_UNKNOWN.',
    specs: [...COMMITS, ...FAULTS],
    tests: 'and are told the failure of the commit|COMMIT that fails',
  },
  {
    id: 'rejection-is-said-before-the-commit',
    file: 'src/database/sqlite/writing/group-commit.ts',
    replace: 'if (this.batch === undefined || this.batch.pending.length === 0) return done();',
    by: 'if (this.batch === undefined || this.batch.pending.length >= 0) return done();',
    breaks: 'A rejection waits for the commit of the rows that it rests on.',
    specs: COMMITS,
  },
  {
    id: 'no-savepoint',
    file: 'src/database/sqlite/writing/write-transaction.ts',
    replace: `    if (!this.isFirst) connection.run('SAVEPOINT job');`,
    by: `    if (!this.isFirst && timeout < 0) connection.run('SAVEPOINT job');`,
    breaks: 'A transaction that shares a commit can be undone alone.',
    specs: COMMITS,
  },
  {
    id: 'transaction-may-last-for-ever',
    file: 'src/database/sqlite/writing/write-transaction.ts',
    replace: 'this.timer = setTimeout(() => this.undo(transactionTooLong(timeout)), timeout);',
    by: 'this.timer = setTimeout(() => this.undo(transactionTooLong(timeout)), 1000 * timeout);',
    breaks: 'A transaction that hangs is undone after DATABASE_TRANSACTION_TIMEOUT.',
    specs: COMMITS,
  },
  {
    id: 'foreign-keys-off',
    file: 'src/database/sqlite/sqlite-driver.ts',
    replace: `'foreign_keys = ON'`,
    by: `'foreign_keys = OFF'`,
    breaks: 'Foreign keys are enforced.',
    specs: COMMITS,
    tests: 'foreign key',
  },
  {
    id: 'commits-are-not-flushed',
    file: 'src/database/sqlite/sqlite-driver.ts',
    replace: `'synchronous = FULL'`,
    by: `'synchronous = NORMAL'`,
    breaks: 'An acknowledged write survives a loss of power.',
    specs: DATA_LAYER,
    tests: 'is on disk when it is acknowledged',
  },
  {
    id: 'begins-deferred',
    file: 'src/database/sqlite/writing/group-commit.ts',
    replace: `'BEGIN IMMEDIATE'`,
    by: `'BEGIN'`,
    breaks: 'A transaction that reads and then writes does not fail after a commit of another process.',
    specs: [...DATA_LAYER, ...MIGRATIONS],
    tests: 'never fails with a stale snapshot|one of several that migrate',
  },
  {
    id: 'sqlite-waits-for-locks',
    file: 'src/database/sqlite/sqlite-connection.ts',
    replace: 'timeout: 0 }',
    by: 'timeout: 5000 }',
    breaks: 'Nobody stops the event loop to wait for the lock of another process.',
    specs: DATA_LAYER,
    tests: LOCKED,
  },
  {
    id: 'snapshot-without-transaction',
    file: 'src/database/sqlite/reading/snapshots.ts',
    replace: `      connection.run('BEGIN');\n`,
    by: '',
    breaks: 'A list shows one state, whatever is written while it is read.',
    specs: DATA_LAYER,
    tests: SNAPSHOT,
  },
  {
    id: 'reads-see-the-writing-connection',
    file: 'src/database/sqlite/sqlite-driver.ts',
    replace: `      return this.reader.run(sql, parameters);
    } catch`,
    by: `      return this.writing.run(sql, parameters);
    } catch`,
    breaks: 'Reads outside a transaction see only what is committed.',
    specs: DATA_LAYER,
    tests: 'does not wait for an open transaction',
  },
  {
    id: 'large-wal-ends-nobody',
    file: 'src/database/sqlite/writing/large-wal.ts',
    replace: 'const ended = this.snapshots.endAll();',
    by: 'const ended = 0;',
    breaks: 'The lists that keep the write-ahead log from restarting are ended.',
    specs: LARGE_WAL,
  },
  {
    id: 'lost-file-is-acknowledged',
    file: 'src/database/sqlite/writing/group-commit.ts',
    replace: '      this.file.check();\n',
    by: '',
    breaks: 'Nothing is acknowledged that was written to a file which has been taken away.',
    specs: FAULTS,
    tests: TAKEN_AWAY,
  },
  {
    id: 'reserve-is-not-made',
    file: 'src/database/sqlite/writing/disk-reserve.ts',
    replace: '        lengthen(descriptor, this.size);\n',
    by: '',
    breaks: 'Records can be deleted on a full volume.',
    specs: FULL,
    tests: 'deletes every record',
  },
  {
    id: 'database-file-gets-no-pages-before-a-commit',
    file: 'src/database/sqlite/writing/disk-reserve.ts',
    replace: 'if (pages > this.pages) ',
    by: 'if (pages > 2 ** 32) ',
    breaks: 'A checkpoint needs no space.',
    specs: FULL,
    tests: 'refuses POST with 507',
  },
  {
    id: 'rounded-integers',
    file: 'src/database/sqlite/sqlite-connection.ts',
    replace: 'Number.isInteger(value) && !Number.isSafeInteger(value)',
    by: 'Number.isInteger(value) && Number.isNaN(value)',
    breaks: 'An integer that would be rounded is an error.',
    specs: ['test/ordinary-code/types.e2e-spec.ts'],
    tests: 'is an error, never rounded',
  },
];

export default mutants;
