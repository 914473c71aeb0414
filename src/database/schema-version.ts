import { type DataSource, MigrationExecutor } from 'typeorm';
import { loadClasses } from './module-files.js';

/** Every migration of `migrations/`, the oldest first. */
export function loadMigrations() {
  return loadClasses('migrations', /^[0-9]+-.*(?<!\.d)\.[jt]s$/);
}

/** The names of the migrations that this code has, as they stand in the table `migrations`. */
export async function knownMigrations(): Promise<string[]> {
  return (await loadMigrations()).map((migration) => migration.name);
}

/** The names of migrations that the database has had and the code does not know: a newer version has used it. */
export async function unknownMigrations(dataSource: DataSource): Promise<string[]> {
  const executed = await new MigrationExecutor(dataSource).getExecutedMigrations();
  const known = new Set(await knownMigrations());
  return executed.map(({ name }) => name).filter((name) => !known.has(name));
}
