import { parseArgs } from 'node:util';
import { ArgumentError, parseField } from './fields.js';
import { pascal, singularOf, pluralOf } from './names.js';

export const USAGE = `npm run generate -- resource <plural> <name>:<kind>... [options]

Writes a resource: entity, DTO classes, service, controller and module in src/<plural>, its migration, its specs for
SQLite and PostgreSQL, its lines in src/app.module.ts and src/features.ts, and its capacity in .env.example and the
README. It overwrites nothing.

  npm run generate -- resource orders customer:text:100 quantity:int:1..1000 status:enum:open,paid,shipped cookieId:ref:cookies

Kinds:
  customer:text:100                1 to 100 characters
  code:text:4..8                   4 to 8 characters
  quantity:int:1..1000             a whole number from 1 to 1000
  weight:number:0..99.5            a number from 0 to 99.5
  change:decimal:10,2              10 digits, 2 of them after the point; a text in JSON, such as money
  price:decimal:10,2,0             the same, at least 0
  day:date                         a day, such as 2026-01-31
  startsAt:instant                 a moment, such as 2026-01-31T12:00:00.000Z
  deviceId:uuid                    a UUID
  isGift:bool                      true or false
  status:enum:open,paid,shipped    one of these; lists can be filtered by it
  cookieId:ref:cookies             the id of a record of another resource; lists can be filtered by it
  address:json:street,city         an object with its own DTO class, which has these texts

A "?" after a name makes the property optional and nullable: 'note?:text:500', in quotes for your shell.
A "=" after a kind sets a default: isGift:bool=false, status:enum:open,paid=open, discount:decimal:5,2=0.00.

--unique code                    codes are unique; repeat the option for another property
--unique row,seat                row and seat are unique together
--read-only status               the service sets it and clients cannot; it needs a default or a "?"
--timestamps                     createdAt and updatedAt, which the service sets
--ids uuid                       ids are UUIDs (version 7) instead of integers
--singular person                the singular of an irregular plural, such as people
`;

const EXAMPLE = 'npm run generate -- resource orders customer:text:100';

/** Words that the code, the document or the database of the service uses. */
const TAKEN = new Set(
  (
    'openapi docs features settings health metrics lists storage migrations imports rate-limits records examples ' +
    'Check Column Entity Index Injectable Module References Resource ResourceEntity ResourceRepository UuidResourceEntity'
  ).split(' '),
);

/**
 * @param known existing resources
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
  const json = unique.flat().find(({ texts }) => texts !== undefined);
  if (json !== undefined)
    throw new ArgumentError(`--unique ${json.name}: JSON cannot be unique; for example --unique code`);
  const readOnly = (values['read-only'] ?? []).flatMap((names) => namedFields(parsed, names, '--read-only'));
  const fields = parsed.map((field) => ({ ...field, isReadOnly: readOnly.includes(field) }));
  requireWritable(fields);
  return { singular, plural, fields, unique: unique.map((key) => key.map(({ name }) => name)), hasTimestamps, ids };
}

const namedFields = (fields, names, option) =>
  names.split(',').map((name) => {
    const field = fields.find((each) => each.name === name);
    if (field !== undefined) return field;
    throw new ArgumentError(`${option} ${names}: "${name}" is none of ${fields.map((each) => each.name).join(', ')}`);
  });

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
    const [problem] = error.message.split('. ');
    throw new ArgumentError(`${problem}; for example ${EXAMPLE} --singular order`);
  }
}

function requireWord(name) {
  if (/^[a-z][a-z0-9]*(-[a-z][a-z0-9]*)*$/.test(name) && name.length >= 2 && name.length <= 30) return;
  throw new ArgumentError(
    `"${name}": a resource is named by 2 to 30 lower-case letters and digits, words joined by hyphens; for example gift-cards`,
  );
}

function requireFree(singular, plural) {
  for (const name of [plural, singular]) {
    const type = pascal(name);
    if (!TAKEN.has(name) && !TAKEN.has(type) && !(type in globalThis)) continue;
    throw new ArgumentError(`"${name}": the name is taken; for example shop-${plural}`);
  }
}

function requireDistinct(fields, taken) {
  if (fields.length === 0) throw new ArgumentError(`a resource needs a property; for example ${EXAMPLE}`);
  const names = new Set(taken);
  for (const { name } of fields) {
    // SQLite ignores the case of names.
    if (names.has(name.toLowerCase())) throw new ArgumentError(`"${name}": comes twice; for example ${name}2:text:100`);
    names.add(name.toLowerCase());
  }
}
