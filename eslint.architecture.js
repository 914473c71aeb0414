/**
 * The rules for imports in `src/` as ESLint configurations, so that an editor shows violations. `docs/architecture.md` shows
 * the layers. A folder of `src/` that is not a layer is a feature.
 */
import { readdirSync } from 'node:fs';

/** The layers from the top down. A file imports from its own and lower layers; `server` and files without a folder are one. */
const LAYERS = [
  '',
  'server',
  'cli',
  'FEATURES',
  'admin',
  'resource',
  'openapi',
  'rate-limit',
  'auth',
  'management',
  'http',
  'database',
  'tracing',
  'config',
  'logging',
];

/** The files of the layer without a folder, except `features`, which the command line imports. */
const ROOT_FILES = ['main', 'app', 'app\\.module'];

/** The roles of files in a feature from the top down, as in the names of the files. */
const ROLES = ['module', 'controller', 'openapi', 'service', 'repository', 'entity'];

/** Roles that a role must not import, besides the roles above it. */
const NOT_FOR_ROLE = {
  controller: ['repository', 'entity'],
  repository: ['dto'],
  entity: ['dto'],
};

const WITHOUT_TYPEORM = ['controller', 'service', 'dto'];

/** An entry of `no-restricted-syntax` for every form of an import. @param {string} pattern of the imported path */
function noImport(pattern, message) {
  // A selector does not support an escaped slash.
  const value = `/${pattern.replaceAll('/', '\\u002F')}/`;
  const statements = 'ImportDeclaration, ExportNamedDeclaration, ExportAllDeclaration, ImportExpression, TSImportType';
  return { selector: `:matches(${statements})[source.value=${value}]`, message };
}

/** The files of `src/http/connections/` that other modules import. */
const EXPORTS_OF_CONNECTIONS = '(?!(connections|request-tracker|tracking-hooks)\\.js$)';
const NO_INSIDE_OF_CONNECTIONS = ['/http/connections/', '^\\.{1,2}/connections/'].map((folder) =>
  noImport(
    `${folder}${EXPORTS_OF_CONNECTIONS}`,
    'Other modules import only connections.js, request-tracker.js and tracking-hooks.js of src/http/connections.',
  ),
);

/** The files of the engines that other modules import: for database files and their errors, without a data source. */
const EXPORTS_OF_ENGINES = '(?!(better-sqlite3|sqlite-errors|file/(private-file|file-problem))\\.js$)';
const NO_INSIDE_OF_ENGINES = noImport(
  `/database/(sqlite|postgres)/${EXPORTS_OF_ENGINES}`,
  'docs/drivers.md lists the files of src/database that other modules import.',
);

/** The rules below match relative paths only. */
const NO_ALIAS = noImport('^(#|[@~]/)', 'Import by a relative path: the rules of layers and jest know no other.');

const oneOf = (names) => `(${names.join('|')})`;

const NO_ENVIRONMENT = [
  'MemberExpression[object.name="process"][property.name="env"]',
  'MemberExpression[object.name="process"][property.value="env"]',
  'VariableDeclarator[init.name="process"] > ObjectPattern > Property[key.name="env"]',
  'ImportDeclaration[source.value=/^(node:)?process$/] > ImportSpecifier[imported.name="env"]',
  'Identifier[name="loadEnvFile"]',
].map((selector) => ({
  selector,
  message: 'Only src/config/config.ts reads the environment; use Config.',
}));

function noUpperLayers(layer, allFeatures) {
  const upper = LAYERS.slice(0, LAYERS.indexOf(layer)).flatMap((name) => (name === 'FEATURES' ? allFeatures : name));
  const names = upper.filter((name) => name !== '');
  const message = `Imports go down only: ${layer === 'FEATURES' ? 'a feature' : `src/${layer}`} is below the imported file.`;
  const files = layer === 'cli' ? ROOT_FILES : [...ROOT_FILES, 'features'];
  const patterns = [`^(\\.\\./)+${oneOf(files)}\\.js$`];
  if (names.length > 0) patterns.push(`^(\\.\\./)+${oneOf(names)}/`);
  return patterns.map((pattern) => noImport(pattern, message));
}

function noOtherFeature(feature, allFeatures) {
  const others = allFeatures.filter((name) => name !== feature);
  if (others.length === 0) return [];
  const message = 'A feature uses another one only through the service that its module exports.';
  return [noImport(`^(\\.\\./)+${oneOf(others)}/(?!.*\\.(service|module)\\.js$)`, message)];
}

function restrictionsOf(role) {
  const upper = role === 'dto' ? ROLES : ROLES.slice(0, ROLES.indexOf(role));
  const roles = [...upper, ...(NOT_FOR_ROLE[role] ?? [])].filter((name) => name !== 'dto');
  const message = `In a feature: controller -> service -> repository -> entity; a ${role} imports neither ${roles.join(' nor ')}.`;
  // The pattern matches files of the same feature; `../` leads to them from `dto/`.
  const restrictions =
    roles.length > 0 ? [noImport(`^(\\./(.*/)?|\\.\\./)[^/]*\\.${oneOf(roles)}\\.js$`, message)] : [];
  if (NOT_FOR_ROLE[role]?.includes('dto')) {
    restrictions.push(noImport('^\\.{1,2}/(.*/)?dto/', `A ${role} knows no DTO: the service passes plain values.`));
  }
  if (WITHOUT_TYPEORM.includes(role)) {
    restrictions.push(noImport('typeorm', `TypeORM belongs in repositories and entities, not in a ${role}.`));
  }
  return restrictions;
}

const configuration = (files, restrictions, environment = NO_ENVIRONMENT) => ({
  files,
  ignores: ['src/**/*.spec.ts'],
  rules: {
    'no-restricted-syntax': [
      'error',
      ...environment,
      NO_INSIDE_OF_CONNECTIONS[0],
      NO_INSIDE_OF_ENGINES,
      NO_ALIAS,
      ...restrictions,
    ],
  },
});

// ESLint uses the last configuration that matches a file, so each one has all rules for its files.
function configurationsOf(feature, allFeatures) {
  const always = [...noUpperLayers('FEATURES', allFeatures), ...noOtherFeature(feature, allFeatures)];
  const folder = `src/${feature}/**`;
  return [
    configuration([`${folder}/*.ts`], always),
    ...ROLES.map((role) => configuration([`${folder}/*.${role}.ts`], [...always, ...restrictionsOf(role)])),
    configuration([`${folder}/dto/*.ts`], [...always, ...restrictionsOf('dto')]),
  ];
}

/** The folders of `src/` that are not layers. */
export function features() {
  const entries = readdirSync(new URL('src', import.meta.url), { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory() && !LAYERS.includes(entry.name)).map(({ name }) => name);
}

/**
 * @param {string[]} allFeatures the names of their folders
 * @returns {import('eslint').Linter.Config[]}
 */
export function architecture(allFeatures = features()) {
  const layers = LAYERS.filter((layer) => !['', 'server', 'FEATURES'].includes(layer));
  return [
    configuration(['src/**/*.ts', 'migrations/**/*.ts', 'ormconfig.ts'], []),
    ...layers.map((layer) => configuration([`src/${layer}/**/*.ts`], noUpperLayers(layer, allFeatures))),
    configuration(['src/http/**/*.ts'], [...noUpperLayers('http', allFeatures), NO_INSIDE_OF_CONNECTIONS[1]]),
    ...allFeatures.flatMap((feature) => configurationsOf(feature, allFeatures)),
    configuration(['src/config/config.ts'], noUpperLayers('config', allFeatures), []),
  ];
}
