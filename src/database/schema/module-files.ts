import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The project's root as it runs: the sources in tests, `dist` when built. */
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export type Class = new (...args: never[]) => object;

/**
 * Loads every class that the modules in a folder export, so that an entity or a migration is known by lying there.
 * TypeORM's own globs load with `require`, which the test runner cannot do with ES modules.
 */
export async function loadClasses(folder: string, name: RegExp): Promise<Class[]> {
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).filter((file) =>
    name.test(file),
  );
  const modules: object[] = [];
  // One by one: jest's loader of ES modules fails where two that load at the same time have an import in common.
  for (const file of files.sort()) {
    modules.push((await import(pathToFileURL(join(ROOT, folder, file)).href)) as object);
  }
  return modules
    .flatMap((module) => Object.values(module) as unknown[])
    .filter((value) => typeof value === 'function') as Class[];
}
