import { valuesOf } from '../fields.js';
import { constant } from '../names.js';
import { enumsOf } from '../resource.js';

/** @typedef {import('../resource.js').Resource} Resource */

/** @param {Resource} resource */
export function values({ singular, plural, fields }) {
  const names = plural === `${singular}s` ? [singular] : [singular, plural];
  const enums = enumsOf(fields).map(({ name, type, values = [] }) => {
    const all = valuesOf(singular, name);
    return `
      export const ${all} = ${JSON.stringify(values)} as const;
      export type ${type} = (typeof ${all})[number];`;
  });
  return `
    import { ResourceName } from '../resource/resource.js';

    export const ${constant(singular)} = new ResourceName(${names.map((name) => `'${name}'`).join(', ')});
    ${enums.join('\n')}`;
}
