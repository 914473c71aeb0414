import { parseArgs } from 'node:util';
import { ArgumentError, parseField } from './fields.js';
import { pascal, singularOf, pluralOf } from './names.js';

export const USAGE = `npm run generate -- resource <plural> <name>:<kind>... [options]

Writes a resource: entity, DTO classes, service, controller and module in src/<plural>, its migration, its specs for
SQLite and PostgreSQL, its lines in src/app.module.ts and src/features.ts, and its capacity in .env.example and the
README. It overwrites nothing.

  npm run generate -- resource orders customer:text:100 quantity:int:1..1000 status:enum:open,paid,shipped cookieId:ref:cookies

Kinds:
  customer:text:100                so many characters at most, and one at least
  code:text:4..8                   from so many characters to so many
  quantity:int:1..1000             a whole number from the least to the greatest
  weight:number:0..99.5            the same for any number
  change:decimal:10,2              so many digits, so many of them behind the point; a text in JSON, such as money
  price:decimal:10,2,0             and the least value
  day:date                         a day, such as 2026-01-31
  startsAt:instant                 a moment, such as 2026-01-31T12:00:00.000Z
  deviceId:uuid                    a UUID
  isGift:bool                      true or false
  status:enum:open,paid,shipped    one of these; lists can be filtered by it
  cookieId:ref:cookies             the id of a record of another resource; lists can be filtered by it
  address:json:street,city         an object with a DTO class of its own, which begins with these texts

A "?" behind a name lets the property be absent or null: 'note?:text:500', in quotes for your shell.
A "=" behind a kind gives a default: isGift:bool=false, status:enum:open,paid=open, discount:decimal:5,2=0.00.

--unique code                    no two records have the same code; again for another property
--unique row,seat                no two records have both the same row and seat
--read-only status               the service sets it and clients cannot; it needs a default or a "?"
--timestamps                     createdAt and updatedAt, which the service sets
--ids uuid                       ids are UUIDs (version 7) and not integers
--singular person                one of them where the plural does not tell, such as people
`;

const EXAMPLE = 'npm run generate -- resource orders customer:text:100';

/** Words that the code, the document or the database of the service uses. */
const TAKEN = new Set(
  (
    'openapi docs features health metrics lists storage migrations imports rate-limits records examples ' +
    'Check Column Entity Injectable Module References Resource ResourceEntity ResourceRepository UuidResourceEntity'
  ).split(' '),
);

/** @typedef {import('./fields.js').Field} Field */

/**
 * @param {string[]} args @param {ReadonlyMap<string, { ids: 'integer' | 'uuid' }>} known existing resources
 * @returns {{ singular: string, plural: string, fields: Field[], unique: string[][], hasTimestamps: boolean, ids: 'integer' | 'uuid' }}
 * @throws {ArgumentError}
 */
export function parseArguments(args, known) {
  const { positionals, values } = split(args);
  const [what, plural, ...properties] = positionals;
  if (what !== 'resource')
    throw new ArgumentError(`"${what ?? ''}": only "resource" can be made; for example ${EXAMPLE}`);
  if (plural === undefined) throw new ArgumentError(`the name of the resource is missing; for example ${EXAMPLE}`);
  requireWord(plural);
  const singular = values.singular ?? singularOf(plural);
  if (singular === undefined) {
    const advice = `resource ${pluralOf(plural)}, one of which is "${plural}", or resource ${plural} --singular <one of them>`;
    throw new ArgumentError(`"${plural}" is no plural; for example ${advice}`);
  }
  requireWord(singular);
  if (singular === plural) {
    throw new ArgumentError(`--singular "${singular}" is the plural, too; for example --singular ${singular}-item`);
  }
  requireFree(singular, plural);
  const hasTimestamps = values.timestamps === true;
  const { ids = 'integer' } = values;
  if (ids !== 'integer' && ids !== 'uuid')
    throw new ArgumentError(`--ids ${ids}: it is integer or uuid; for example --ids uuid`);
  const parsed = properties.map((argument) => parseField(argument, { singular, plural, known }));
  requireDistinct(parsed, hasTimestamps ? ['createdat', 'updatedat'] : []);
  const unique = (values.unique ?? []).map((names) => namedFields(parsed, names, '--unique'));
  const json = parsed.find(
    ({ name, texts }) => texts !== undefined && unique.flat().some((each) => each.name === name),
  );
  if (json !== undefined)
    throw new ArgumentError(`--unique ${json.name}: JSON cannot be unique; for example --unique code`);
  const readOnly = (values['read-only'] ?? []).flatMap((names) => namedFields(parsed, names, '--read-only'));
  const fields = parsed.map((field) => ({ ...field, isReadOnly: readOnly.includes(field) }));
  requireWritable(fields);
  return { singular, plural, fields, unique: unique.map((key) => key.map(({ name }) => name)), hasTimestamps, ids };
}

/**
 * @param {Field[]} fields @param {string} names of some of them, joined by commas @param {string} option
 */
const namedFields = (fields, names, option) =>
  names.split(',').map((name) => {
    const field = fields.find((each) => each.name === name);
    if (field !== undefined) return field;
    throw new ArgumentError(`${option} ${names}: "${name}" is none of ${fields.map((each) => each.name).join(', ')}`);
  });

/** @param {Field[]} fields */
function requireWritable(fields) {
  const empty = fields.find(
    ({ isReadOnly, isOptional, initial }) => isReadOnly && !isOptional && initial === undefined,
  );
  if (empty !== undefined) {
    const right = `--read-only status, with status:enum:open,paid=open or 'status?:enum:open,paid'`;
    throw new ArgumentError(`--read-only ${empty.name}: a new record needs a default or a "?"; for example ${right}`);
  }
  if (fields.every(({ isReadOnly }) => isReadOnly))
    throw new ArgumentError(`a resource needs a property that is not --read-only; for example ${EXAMPLE}`);
}

/** @param {string[]} args */
function split(args) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        singular: { type: 'string' },
        unique: { type: 'string', multiple: true },
        'read-only': { type: 'string', multiple: true },
        timestamps: { type: 'boolean' },
        ids: { type: 'string' },
      },
    });
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

/** @param {Field[]} fields @param {string[]} taken in lower case */
function requireDistinct(fields, taken) {
  if (fields.length === 0) throw new ArgumentError(`a resource needs a property; for example ${EXAMPLE}`);
  const names = new Set(taken);
  for (const { name } of fields) {
    // SQLite ignores the case of names.
    if (names.has(name.toLowerCase())) throw new ArgumentError(`"${name}": comes twice; for example ${name}2:text:100`);
    names.add(name.toLowerCase());
  }
}
