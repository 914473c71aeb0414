import { loadClasses } from './module-files.js';

/** All migrations of `migrations/`, oldest first. */
export function loadMigrations() {
  return loadClasses('migrations', /^[0-9]+-.*(?<!\.d)\.[jt]s$/);
}

/** The names of all migrations of this code, as in the table `migrations`. */
export async function knownMigrations(): Promise<string[]> {
  return (await loadMigrations()).map((migration) => migration.name);
}
