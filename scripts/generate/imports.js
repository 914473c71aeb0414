/** The modules of the names in templates. Paths start in `src/<resource>/`. */
const MODULES = /** @type {const} */ ({
  '@nestjs/swagger': ['PartialType'],
  typeorm: ['Check', 'Column', 'CreateDateColumn', 'Entity', 'Index', 'UpdateDateColumn'],
  '../openapi/closed.decorator.js': ['ApiClosed'],
  '../resource/id-kinds.js': ['UUID_IDS'],
  '../resource/lists/list-query.js': ['EnumFilter', 'IdFilter', 'ListQueryOf'],
  '../resource/properties.js': [
    'BooleanProperty',
    'DateProperty',
    'DateTimeProperty',
    'DecimalProperty',
    'EnumProperty',
    'IdProperty',
    'IntegerProperty',
    'JsonProperty',
    'NumberProperty',
    'RecordOf',
    'TextProperty',
    'UuidProperty',
  ],
  '../resource/resource-entity.js': [
    'hasLength',
    'isBetween',
    'isOneOf',
    'References',
    'ResourceEntity',
    'UuidResourceEntity',
  ],
});

/**
 * The imports for a source.
 * @param {string} source
 * @param {{ root?: string }} [options] `root`: path from the file to `src/<resource>/`
 */
export function importsOf(source, { root = '' } = {}) {
  return Object.entries(MODULES)
    .map(([path, names]) => importOf(source, path.startsWith('.') ? root + path : path, names))
    .join('');
}

/**
 * The import of those names that a source uses, in the linter's order.
 * @param {string} source
 * @param {string} path
 * @param {readonly string[]} names
 * @param {readonly string[]} [types] names of types
 */
export function importOf(source, path, names, types = []) {
  const used = [...names, ...types].filter((name) => new RegExp(String.raw`\b${name}\b`).test(source));
  if (used.length === 0) return '';
  const clauses = used.sort(ignoringCase).map((name) => (types.includes(name) ? `type ${name}` : name));
  return `import { ${clauses.join(', ')} } from '${path}';\n`;
}

/** @param {string} one @param {string} other */
export const ignoringCase = (one, other) => (one.toLowerCase() < other.toLowerCase() ? -1 : 1);
