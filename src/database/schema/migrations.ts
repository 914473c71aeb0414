import { type DataSource, MigrationExecutor } from 'typeorm';

/**
 * Runs the pending migrations in one transaction, which locks the `migrations` table first. If several processes start
 * together, one migrates and the others find it done.
 * @returns the names of those that ran
 */
export async function migrate(dataSource: DataSource): Promise<string[]> {
  const runner = dataSource.createQueryRunner();
  try {
    // A table rebuild needs foreign keys off, and inside a transaction SQLite ignores the switch. On PostgreSQL, this
    // takes a lock and lifts the time-outs.
    await runner.beforeMigration();
    await runner.startTransaction();
    try {
      const executor = new MigrationExecutor(dataSource, runner);
      executor.transaction = 'all';
      const done = await executor.executePendingMigrations();
      await runner.commitTransaction();
      return done.map(({ name }) => name);
    } catch (error) {
      await runner.rollbackTransaction();
      throw error;
    }
  } finally {
    await runner.afterMigration();
    await runner.release();
  }
}

/** The names of migrations that the database lacks. */
export async function pendingMigrations(dataSource: DataSource): Promise<string[]> {
  const pending = await new MigrationExecutor(dataSource).getPendingMigrations();
  return pending.map(({ name }) => name);
}

/** The names of migrations of the database that the code does not know: a newer version has migrated it. */
export async function unknownMigrations(dataSource: DataSource): Promise<string[]> {
  const known = new Set(dataSource.migrations.map((migration) => migration.name ?? migration.constructor.name));
  return (await new MigrationExecutor(dataSource).getExecutedMigrations())
    .map(({ name }) => name)
    .filter((name) => !known.has(name));
}
