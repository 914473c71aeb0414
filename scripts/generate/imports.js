/** The names that templates import, by module. Paths start in `src/<resource>/`. */
const MODULES = {
  '@nestjs/swagger': 'PartialType',
  typeorm: 'Check Column CreateDateColumn Entity Index UpdateDateColumn',
  '../openapi/closed.decorator.js': 'ApiClosed',
  '../resource/id-kinds.js': 'UUID_IDS',
  '../resource/lists/list-query.js': 'EnumFilter IdFilter ListQueryOf',
  '../resource/properties.js':
    'BooleanProperty DateProperty DateTimeProperty DecimalProperty EnumProperty IdProperty IntegerProperty ' +
    'JsonProperty NumberProperty RecordOf TextProperty UuidProperty',
  '../resource/resource-entity.js': 'hasLength isBetween isOneOf References ResourceEntity UuidResourceEntity',
};

/**
 * The imports of the names above that a source uses.
 * @param options `root`: path from the file to `src/<resource>/`
 */
export function importsOf(source, { root = '' } = {}) {
  return Object.entries(MODULES)
    .map(([path, names]) => importOf(source, path.startsWith('.') ? root + path : path, names.split(' ')))
    .join('');
}

/**
 * The import of the names that a source uses, in the linter's order.
 * @param types names of types
 */
export function importOf(source, path, names, types = []) {
  const used = [...names, ...types].filter((name) => new RegExp(String.raw`\b${name}\b`).test(source));
  if (used.length === 0) return '';
  const clauses = used.sort(ignoringCase).map((name) => (types.includes(name) ? `type ${name}` : name));
  return `import { ${clauses.join(', ')} } from '${path}';\n`;
}

export const ignoringCase = (one, other) => (one.toLowerCase() < other.toLowerCase() ? -1 : 1);
