import { parseArgs } from 'node:util';
import { ArgumentError, parseField } from './fields.js';
import { pascal, singularOf, pluralOf } from './names.js';

export const USAGE = `npm run generate -- resource <plural> <name>:<kind>... [--singular <word>]

Writes a resource: entity, DTO classes, service, controller and module in src/<plural>, its migration, its specs for
SQLite and PostgreSQL, its lines in src/app.module.ts and src/features.ts, and its capacity in .env.example, the README
and the compose files. It overwrites nothing.

  npm run generate -- resource orders customer:text:100 quantity:int:1..1000 status:enum:open,paid,shipped cookieId:ref:cookies

Kinds:
  customer:text:100                so many characters at most, and one at least
  code:text:4..8                   from so many characters to so many
  quantity:int:1..1000             a whole number from the least to the greatest
  weight:number:0..99.5            the same for any number
  price:decimal:10,2               so many digits, so many of them behind the point; a text in JSON, such as money
  day:date                         a day, such as 2026-01-31
  startsAt:instant                 a moment, such as 2026-01-31T12:00:00.000Z
  deviceId:uuid                    a UUID
  isGift:bool                      true or false
  status:enum:open,paid,shipped    one of these; lists can be filtered by it
  cookieId:ref:cookies             the id of a record of another resource; lists can be filtered by it

A "?" behind a name lets the property be absent or null: 'note?:text:500', in quotes for your shell.
--singular names one of them where the plural does not tell: --singular person, for people.
`;

const EXAMPLE = 'npm run generate -- resource orders customer:text:100';

/** Words that the code, the document or the database of the service uses. */
const TAKEN = new Set([
  ...[
    'openapi',
    'docs',
    'features',
    'health',
    'metrics',
    'lists',
    'storage',
    'migrations',
    'imports',
    'records',
    'examples',
  ],
  ...[
    'Check',
    'Column',
    'Entity',
    'Injectable',
    'Module',
    'References',
    'Resource',
    'ResourceEntity',
    'ResourceRepository',
  ],
]);

/** @typedef {import('./fields.js').Field} Field */

/**
 * @param {string[]} args @param {ReadonlySet<string>} known existing resources
 * @returns {{ singular: string, plural: string, fields: Field[] }}
 * @throws {ArgumentError}
 */
export function parseArguments(args, known) {
  const { positionals, singular: given } = split(args);
  const [what, plural, ...properties] = positionals;
  if (what !== 'resource')
    throw new ArgumentError(`"${what ?? ''}": only "resource" can be made; for example ${EXAMPLE}`);
  if (plural === undefined) throw new ArgumentError(`the name of the resource is missing; for example ${EXAMPLE}`);
  requireWord(plural);
  const singular = given ?? singularOf(plural);
  if (singular === undefined) {
    const advice = `resource ${pluralOf(plural)}, one of which is "${plural}", or resource ${plural} --singular <one of them>`;
    throw new ArgumentError(`"${plural}" is no plural; for example ${advice}`);
  }
  requireWord(singular);
  if (singular === plural) {
    throw new ArgumentError(`--singular "${singular}" is the plural, too; for example --singular ${singular}-item`);
  }
  requireFree(singular, plural);
  const fields = properties.map((argument) => parseField(argument, { singular, plural, known }));
  requireDistinct(fields);
  return { singular, plural, fields };
}

/** @param {string[]} args */
function split(args) {
  try {
    const { positionals, values } = parseArgs({
      args,
      allowPositionals: true,
      options: { singular: { type: 'string' } },
    });
    return { positionals, singular: values.singular };
  } catch (error) {
    const [problem] = /** @type {Error} */ (error).message.split('. ');
    throw new ArgumentError(`${problem}; for example ${EXAMPLE} --singular order`);
  }
}

/** @param {string} name */
function requireWord(name) {
  if (/^[a-z][a-z0-9]*(-[a-z][a-z0-9]*)*$/.test(name) && name.length >= 2 && name.length <= 30) return;
  throw new ArgumentError(
    `"${name}": a resource is named by 2 to 30 lower-case letters and digits, words joined by hyphens; for example gift-cards`,
  );
}

/** @param {string} singular @param {string} plural */
function requireFree(singular, plural) {
  for (const name of [plural, singular]) {
    const type = pascal(name);
    if (!TAKEN.has(name) && !TAKEN.has(type) && !(type in globalThis)) continue;
    throw new ArgumentError(`"${name}": the name is taken; for example shop-${plural}`);
  }
}

/** @param {Field[]} fields */
function requireDistinct(fields) {
  if (fields.length === 0) throw new ArgumentError(`a resource needs a property; for example ${EXAMPLE}`);
  const names = new Set();
  for (const { name } of fields) {
    // SQLite ignores the case of names.
    if (names.has(name.toLowerCase())) throw new ArgumentError(`"${name}": comes twice; for example ${name}2:text:100`);
    names.add(name.toLowerCase());
  }
}
