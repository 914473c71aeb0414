import { loadClasses } from './module-files.js';

/** Every migration of `migrations/`, the oldest first. */
export function loadMigrations() {
  return loadClasses('migrations', /^[0-9]+-.*(?<!\.d)\.[jt]s$/);
}

/** The names of the migrations that this code has, as they stand in the table `migrations`. */
export async function knownMigrations(): Promise<string[]> {
  return (await loadMigrations()).map((migration) => migration.name);
}
