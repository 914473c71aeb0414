import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ArgumentError } from './fields.js';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * The resources in `src`, by their plural names: folders with an entity whose table has the name of the folder.
 * @returns a map of `{ entity, ids }`
 */
export function knownResources() {
  const known = new Map();
  const folders = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const { name } of folders) {
    for (const file of readdirSync(join(ROOT, 'src', name)).filter((each) => each.endsWith('.entity.ts'))) {
      const source = readFileSync(join(ROOT, 'src', name, file), 'utf8');
      const [, plural] = /@Entity\('([^']+)'\)/.exec(source) ?? [];
      const [, entity, uuid] = /export class (\w+) extends (Uuid)?ResourceEntity/.exec(source) ?? [];
      if (plural !== name || entity === undefined) continue;
      known.set(plural, { entity, ids: uuid === undefined ? 'integer' : 'uuid' });
    }
  }
  return known;
}

/** The test file that creates a table of this name; the name would not be unique. */
export function tableOfTests(plural) {
  const files = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' });
  const creates = new RegExp(`createResourceTable\\(\\w+, '${plural}'`);
  const file = files.find(
    (each) => each.endsWith('.ts') && creates.test(readFileSync(join(ROOT, 'test', each), 'utf8')),
  );
  return file && join('test', file);
}

/** The files that list the modules and the resources. */
export const MODULES = 'src/app.module.ts';
export const RESOURCES = 'src/features.ts';

/** Adds a module such as `OrdersModule` to `src/app.module.ts`. @throws {ArgumentError} */
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
 * Adds a resource such as `ORDERS` to `src/features.ts`, after the resources to which it may refer.
 * @throws {ArgumentError}
 */
export function withResource(source, name, path) {
  const [before, list] = /RESOURCES: readonly Resource\[\] = \[([^\]]*)/.exec(source) ?? [];
  if (before === undefined || list === undefined) {
    throw new ArgumentError(`${RESOURCES} has no "RESOURCES: readonly Resource[] = [...]"; add it, with COOKIES`);
  }
  const separator = /(^|,)\s*$/.test(list) ? '' : ', ';
  const extended = source.replace(before, () => `${before}${separator}${name}`);
  return withImport(extended, name, path);
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
export function nextTimestamp() {
  const names = readdirSync(join(ROOT, 'migrations'));
  return Math.max(Date.now(), ...names.map((name) => Number.parseInt(name, 10) + 1 || 0));
}
