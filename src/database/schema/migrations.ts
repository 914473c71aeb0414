import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import {
  type DataSource,
  type Migration,
  MigrationExecutor,
  QueryFailedError,
  type QueryRunner,
  TypeORMError,
} from 'typeorm';
import { MIGRATE, REVERT } from '../../config/program-names.js';
import { DatabaseStartError, DatabaseUnavailableError } from '../errors.js';

/** Milliseconds between two attempts. */
const PAUSE = 1000;
/** Milliseconds until the last attempt, longer than a client may take to read a list. */
const LAST_ATTEMPT = 600_000;

type SchemaChange = 'executePendingMigrations' | 'undoLastMigration';
export type MigrationOptions = NonNullable<Parameters<DataSource['runMigrations']>[0]>;

/** The entity class that takes part in migrations, in their transaction: `StorageRow` of the resource kit. */
export interface MigratingEntity {
  /** @returns the function to call after the last migration */
  beforeMigrations(this: void, runner: QueryRunner): Promise<() => Promise<void>>;
}

/** @returns the names of the migrations that ran; see `changeSchema` */
export async function migrate(dataSource: DataSource): Promise<string[]> {
  return (await changeSchema(dataSource, 'executePendingMigrations')).map(({ name }) => name);
}

/**
 * Runs the pending migrations, or reverts the last one, by default in one transaction under a lock: of several
 * processes, one migrates and the others find nothing to do. On PostgreSQL it tries again while another process
 * migrates or uses a table.
 * @returns the migrations that ran
 * @throws {DatabaseStartError} when a statement of a migration fails
 * @throws {DatabaseUnavailableError} when others do so for ten minutes; on SQLite, after the busy time-out
 */
export async function changeSchema(
  dataSource: DataSource,
  change: SchemaChange,
  options: MigrationOptions = {},
): Promise<Migration[]> {
  if (dataSource.options.type !== 'postgres') return changeOnce(dataSource, change, options);
  const started = performance.now();
  for (let attempts = 1; ; attempts++) {
    try {
      return await changeOnce(dataSource, change, options);
    } catch (error) {
      const isInUse = error instanceof DatabaseUnavailableError && error.kind === 'busy';
      if (!isInUse || performance.now() - started > LAST_ATTEMPT) throw error;
      if (attempts === 1) new Logger('Database').warn('A migration waits for another one, or for a table in use');
      await sleep(PAUSE);
    }
  }
}

async function changeOnce(
  dataSource: DataSource,
  change: SchemaChange,
  { transaction: mode = 'all', fake = false }: MigrationOptions,
): Promise<Migration[]> {
  const runner = dataSource.createQueryRunner();
  try {
    // A table rebuild needs foreign keys off, and SQLite ignores this pragma inside a transaction. On PostgreSQL, the
    // call takes a lock and lifts the time-outs.
    await runner.beforeMigration();
    // In the mode `each`, TypeORM begins the transactions, except for a migration that must run without one.
    if (mode === 'all') await runner.startTransaction();
    const targets = dataSource.entityMetadatas.map(({ target }) => target as Partial<MigratingEntity>);
    const complete = await targets.find((target) => target.beforeMigrations)?.beforeMigrations?.(runner);
    try {
      const executor = Object.assign(new MigrationExecutor(dataSource, runner), { transaction: mode, fake });
      const done = (await executor[change]()) as Migration[] | undefined;
      if (done?.length !== 0) {
        await complete?.();
        // On SQLite, this checks the foreign keys, which are off.
        await runner.afterMigration();
      }
      if (runner.isTransactionActive) await runner.commitTransaction();
      return done ?? [];
    } catch (error) {
      if (runner.isTransactionActive) await runner.rollbackTransaction();
      if (mode === 'all') throw await failedMigration(error, runner);
      // Migrations before the one that failed are committed.
      await complete?.().catch(() => undefined);
      throw error;
    }
  } finally {
    // On SQLite, this also enforces foreign keys again.
    await runner.release();
  }
}

async function failedMigration(error: unknown, runner: QueryRunner): Promise<unknown> {
  if (!(error instanceof TypeORMError)) return error;
  const failure = 'A migration failed, and the database is as it was before';
  if (!(error instanceof QueryFailedError)) return new DatabaseStartError(`${failure}: ${error.message}`);
  // PostgreSQL names a violating value in the detail.
  const { code, detail } = error.driverError as { code?: unknown; detail?: string };
  // The engine has a better message for a missing right.
  if (code === '42501') return error;
  // TypeORM makes a table again that it cannot see.
  if (code === '42P07') await expectVisible(runner);
  const reason = [error.message, detail].filter(Boolean).join(': ');
  return new DatabaseStartError(
    `${failure} (${reason}): change the migration, or the rows that violate it. The statement was: ${error.query}`,
  );
}

export async function pendingMigrations(dataSource: DataSource): Promise<string[]> {
  const pending = await new MigrationExecutor(dataSource).getPendingMigrations();
  return pending.map(({ name }) => name);
}

/** Rejects a user without a right to the table `migrations`, because PostgreSQL hides it from TypeORM then. */
async function expectVisible(database: DataSource | QueryRunner): Promise<void> {
  try {
    await database.query('SELECT 1 FROM migrations WHERE 1 = 0');
  } catch (error) {
    if (!(error instanceof QueryFailedError)) throw error;
  }
}

/** @throws {DatabaseStartError} if migrations are pending */
export async function requireMigrated(dataSource: DataSource): Promise<void> {
  const pending = await pendingMigrations(dataSource);
  if (pending.length === 0) return;
  await expectVisible(dataSource);
  throw new DatabaseStartError(
    `The database lacks the migrations ${pending.join(', ')}: run ${MIGRATE}, or start the service with MIGRATE_ON_START=true`,
  );
}

/** @throws {DatabaseStartError} if a newer version has migrated the database */
export async function rejectNewerSchema(dataSource: DataSource): Promise<void> {
  const unknown = await unknownMigrations(dataSource);
  if (unknown.length === 0) return;
  throw new DatabaseStartError(
    `The database has the migrations ${unknown.join(', ')}, which this version does not know: a newer version has ` +
      `changed it. Use that version, or revert the migrations with it: ${REVERT}`,
  );
}

/** The names of migrations of the database that the code does not know: a newer version has migrated it. */
export async function unknownMigrations(dataSource: DataSource): Promise<string[]> {
  const known = new Set(dataSource.migrations.map((migration) => migration.name ?? migration.constructor.name));
  return (await new MigrationExecutor(dataSource).getExecutedMigrations())
    .map(({ name }) => name)
    .filter((name) => !known.has(name));
}

/** The codes of a missing table or column. A missing privilege and an unlogged table on a standby have other codes. */
const MISSING = /^(42P01|42703|SQLITE_ERROR)$/;
const ADVICE =
  ': write a migration for it (docs/extending.md, "Change a resource that has records"); migration:generate reads the ' +
  'files *.entity.ts of src';

/** Selects nothing from each entity, and returns a message for each whose table or column the database lacks. */
export async function unreadableEntities(dataSource: DataSource): Promise<string[]> {
  const problems: string[] = [];
  for (const { name, tableType, target } of dataSource.entityMetadatas) {
    if (tableType.includes('junction')) continue;
    try {
      await dataSource.createQueryBuilder(target, name).where('1 = 0').getRawMany();
    } catch (error) {
      if (!(error instanceof QueryFailedError)) throw error;
      const isMissing = MISSING.test(String((error.driverError as { code?: unknown }).code));
      problems.push(`the entity ${name} cannot be read (${error.message})${isMissing ? ADVICE : ''}`);
    }
  }
  return problems;
}
