import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ArgumentError } from './fields.js';

/**
 * The resources in `src`, by their plural names: folders with an entity whose table has the name of the folder.
 * @returns a map of `{ entity, ids }`
 */
export function knownResources(root) {
  const known = new Map();
  const folders = readdirSync(join(root, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const { name } of folders) {
    for (const file of readdirSync(join(root, 'src', name)).filter((each) => each.endsWith('.entity.ts'))) {
      const source = readFileSync(join(root, 'src', name, file), 'utf8');
      const [, plural] = /@Entity\('([^']+)'\)/.exec(source) ?? [];
      const [, entity, uuid] = /export class (\w+) extends (Uuid)?ResourceEntity/.exec(source) ?? [];
      if (plural !== name || entity === undefined) continue;
      known.set(plural, { entity, ids: uuid === undefined ? 'integer' : 'uuid' });
    }
  }
  return known;
}

/** The file of the tests that makes a table of this name. The name must be unique. */
export function tableOfTests(root, plural) {
  const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' });
  const creates = new RegExp(`createResourceTable\\(\\w+, '${plural}'`);
  const found = files.find(
    (file) => file.endsWith('.ts') && creates.test(readFileSync(join(root, 'test', file), 'utf8')),
  );
  return found === undefined ? undefined : join('test', found);
}

/** The files that list the modules and the resources. */
export const MODULES = 'src/app.module.ts';
export const RESOURCES = 'src/features.ts';

/**
 * Adds a module to `src/app.module.ts`.
 * @param moduleName such as `OrdersModule`
 * @param path of its file, as in an import
 * @throws {ArgumentError}
 */
export function withModule(source, moduleName, path) {
  const end = source.indexOf(']', source.indexOf('// features'));
  if (!source.includes('// features') || end < 0) {
    throw new ArgumentError(
      `${MODULES} has no list of imports with the comment "// features"; add it above CookiesModule`,
    );
  }
  return withImport(`${source.slice(0, end).trimEnd()}\n${moduleName},\n${source.slice(end)}`, moduleName, path);
}

/**
 * Adds a resource to `src/features.ts`, after those that it may refer to.
 * @param name such as `ORDERS`
 * @param path of its file, as in an import
 * @throws {ArgumentError}
 */
export function withResource(source, name, path) {
  const [before, list] = /RESOURCES: readonly Resource\[\] = \[([^\]]*)/.exec(source) ?? [];
  if (before === undefined || list === undefined) {
    throw new ArgumentError(`${RESOURCES} has no "RESOURCES: readonly Resource[] = [...]"; add it, with COOKIES`);
  }
  const separator = /(^|,)\s*$/.test(list) ? '' : ', ';
  return withImport(
    source.replace(before, () => `${before}${separator}${name}`),
    name,
    path,
  );
}

/** Adds an import to a source, sorted by path. */
function withImport(source, name, path) {
  const lines = source.split('\n');
  const isLater = (line) => (/from '(\.\/.*)'/.exec(line)?.[1] ?? '') > path;
  const last = lines.findLastIndex((line) => line.startsWith('import '));
  const later = lines.findIndex((line) => line.startsWith('import ') && isLater(line));
  lines.splice(later < 0 ? last + 1 : later, 0, `import { ${name} } from '${path}';`);
  return lines.join('\n');
}

/** The timestamp of a new migration, later than all others. */
export function nextTimestamp(root) {
  const last = Math.max(0, ...migrations(root).map((name) => Number.parseInt(name, 10) || 0));
  return Math.max(Date.now(), last + 1);
}

const migrations = (root) => readdirSync(join(root, 'migrations'));

/** The existing migration that creates the table of a resource. */
export const migrationOf = (root, plural) => migrations(root).find((name) => name.endsWith(`-create-${plural}.ts`));

export const existing = (root, paths) => paths.filter((path) => existsSync(join(root, path)));
