import { constant, words } from '../names.js';

/** Default capacity in records. */
const CAPACITY = 10_000;

/** The setting that a resource declares, for the documents. */
export const capacitySettingOf = ({ plural }) => ({
  name: `${constant(plural)}_CAPACITY`,
  about: `maximum number of ${words(plural)} that may be stored; above it POST is 507`,
  default: String(CAPACITY),
});

/** The file with the name of the resource, the values of its enums, and the types of its JSON. */
export function values({ singular, plural, name, enums, json, ids }) {
  const names = plural === `${singular}s` && ids === 'integer' ? [singular] : [singular, plural];
  const given = [...names.map((each) => `'${each}'`), ...(ids === 'uuid' ? ['UUID_IDS'] : [])];
  const constants = enums.map(
    ({ type, values, valuesName }) => `
      export const ${valuesName} = ${JSON.stringify(values)} as const;
      export type ${type} = (typeof ${valuesName})[number];`,
  );
  const interfaces = json.map(({ type, texts }) => {
    const properties = texts.map((text) => `${text}: string;`);
    return `\nexport interface ${type} {\n${properties.join('\n')}\n}`;
  });
  return `
    ${ids === 'uuid' ? `import { UUID_IDS } from '../resource/id-kinds.js';` : ''}
    import { ResourceName } from '../resource/resource.js';

    export const ${name} = new ResourceName(${given.join(', ')});
    ${[...constants, ...interfaces].join('\n')}`;
}

/** The file that declares the resource. */
export function declaration({ singular, plural, name, type, enums, values, hasOwnState }) {
  const filters = enums.map((field) => `${field.name}: ${field.valuesName}`);
  return `
    import { capacitySetting, type Resource } from '../resource/resource.js';
    import type { ${type} } from './${singular}.entity.js';
    import { ${values} } from './${singular}.values.js';

    /** The resource for the configuration and the command line, listed in \`src/features.ts\`. */
    export const ${constant(plural)}: Resource<${type}> = {
      name: ${name},
      capacity: capacitySetting('${capacitySettingOf({ plural }).name}', ${name}),
      ${filters.length > 0 ? `filters: { ${filters.join(', ')} },\n` : ''}entity: async () => (await import('./${singular}.entity.js')).${type},
      createDto: async () => (await import('./dto/${singular}.dto.js')).Create${type}Dto,
      ${hasOwnState ? `recordDto: async () => (await import('./dto/${singular}.dto.js')).${type}Dto,` : ''}
    };`;
}
