import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The root of the running code: the project in tests, otherwise `dist`. */
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export type Class = new (...args: never[]) => object;

/**
 * Loads all classes that the modules in a folder export. TypeORM's own globs load with `require`, which jest cannot do
 * with ES modules.
 */
export async function loadClasses(folder: string, name: RegExp): Promise<Class[]> {
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).filter((file) =>
    name.test(file),
  );
  const modules: object[] = [];
  // One by one: jest fails to load two ES modules at the same time that share an import.
  for (const file of files.sort()) {
    modules.push((await import(pathToFileURL(join(ROOT, folder, file)).href)) as object);
  }
  return modules
    .flatMap((module) => Object.values(module) as unknown[])
    .filter((value) => typeof value === 'function') as Class[];
}

/** All migrations of `migrations/`, oldest first. */
export function loadMigrations() {
  return loadClasses('migrations', /^[0-9]+-.*(?<!\.d)\.[jt]s$/);
}

/** The names of all migrations of this code, as in the table `migrations`. */
export async function knownMigrations(): Promise<string[]> {
  return (await loadMigrations()).map((migration) => migration.name);
}
