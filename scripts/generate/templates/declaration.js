import { constant, pascal, words } from '../names.js';
import { valuesOf } from '../fields.js';
import { enumsOf, hasOwnState, jsonOf, valuesImport } from '../resource.js';

/** Default capacity in records. */
const CAPACITY = 10_000;

/** The setting that a resource declares, for the documents. */
export const capacitySettingOf = ({ plural }) => ({
  name: `${constant(plural)}_CAPACITY`,
  about: `maximum number of ${words(plural)} that may be stored; above it POST is 507`,
  default: String(CAPACITY),
});

/** The file with the name of the resource, the values of its enums, and the types of its JSON. */
export function values({ singular, plural, fields, ids }) {
  const names = plural === `${singular}s` && ids === 'integer' ? [singular] : [singular, plural];
  const given = [...names.map((name) => `'${name}'`), ...(ids === 'uuid' ? ['UUID_IDS'] : [])];
  const enums = enumsOf(fields).map(({ name, type, values = [] }) => {
    const all = valuesOf(singular, name);
    return `
      export const ${all} = ${JSON.stringify(values)} as const;
      export type ${type} = (typeof ${all})[number];`;
  });
  const json = jsonOf(fields).map(({ type, texts = [] }) => {
    const properties = texts.map((text) => `${text}: string;`);
    return `\nexport interface ${type} {\n${properties.join('\n')}\n}`;
  });
  return `
    ${ids === 'uuid' ? `import { UUID_IDS } from '../resource/id-kinds.js';` : ''}
    import { ResourceName } from '../resource/resource.js';

    export const ${constant(singular)} = new ResourceName(${given.join(', ')});
    ${[...enums, ...json].join('\n')}`;
}

/** The file that declares the resource. */
export function declaration({ singular, plural, fields, hasTimestamps }) {
  const type = pascal(singular);
  const filters = enumsOf(fields).map(({ name }) => `${name}: ${valuesOf(singular, name)}`);
  return `
    import { capacitySetting, type Resource } from '../resource/resource.js';
    import type { ${type} } from './${singular}.entity.js';
    ${valuesImport({ singular, fields }, './')}

    /** The resource for the configuration and the command line, listed in \`src/features.ts\`. */
    export const ${constant(plural)}: Resource<${type}> = {
      name: ${constant(singular)},
      capacity: capacitySetting('${capacitySettingOf({ plural }).name}', ${constant(singular)}),
      ${filters.length > 0 ? `filters: { ${filters.join(', ')} },\n` : ''}entity: async () => (await import('./${singular}.entity.js')).${type},
      createDto: async () => (await import('./dto/${singular}.dto.js')).Create${type}Dto,
      ${hasOwnState({ fields, hasTimestamps }) ? `recordDto: async () => (await import('./dto/${singular}.dto.js')).${type}Dto,` : ''}
    };`;
}
