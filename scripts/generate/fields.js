import { constant, kebab, pascal, pluralOf, words } from './names.js';

/*
 * A field is a property of the resource, as source code for each place: `type` in TypeScript; `column` in SQL, with
 * `columnOptions` of TypeORM and `columnDefault`; `check`, an expression for `@Check` and the migration, with
 * `checkName`; `decorator` of the resource kit with its `arguments`; `example` for the document, absent if the
 * decorator has one. A decimal may have `least`, its least value. An enum has `values`, and `schema` and `valuesName`,
 * the names of its constants. A reference has `reference` and `parent`: the plural name of the other resource, and what
 * `knownResources` says of it. JSON has `texts`, the properties of its DTO class.
 */

/** A wrong argument. The message names it, the problem and an example. */
export class ArgumentError extends Error {}

/** Property names that the service, the list's query or JavaScript uses. */
const RESERVED = new Set(
  (
    'id revision epoch record limit after sort dto then constructor prototype break case catch class const continue debugger ' +
    'default delete do else enum export extends false finally for function if import in instanceof new null return super ' +
    'switch this throw true try typeof var void while with yield let static await implements interface package private ' +
    'protected public arguments eval undefined'
  ).split(' '),
);

/** A field whose decorator has no arguments. */
const plainField = (type, column, decorator) => ({ type, column, decorator, arguments: [] });

/**
 * The kinds of properties: an example for messages, and the field of a property, or a function that makes it from the
 * name, the text after the kind, and the resource.
 */
const KINDS = {
  text: { example: 'customer:text:100', field: text },
  int: { example: 'quantity:int:1..1000', field: integer },
  number: { example: 'weight:number:0..99.5', field: number },
  decimal: { example: 'price:decimal:10,2', field: decimal },
  date: { example: 'day:date', field: plainField('string', 'date', 'DateProperty') },
  instant: { example: 'startsAt:instant', field: plainField('Date', 'datetime', 'DateTimeProperty') },
  uuid: { example: 'deviceId:uuid', field: plainField('string', 'uuid', 'UuidProperty') },
  bool: { example: 'isGift:bool', field: plainField('boolean', 'boolean', 'BooleanProperty') },
  enum: { example: 'status:enum:open,paid,shipped', field: enumeration },
  ref: { example: 'cookieId:ref:cookies', field: reference },
  json: { example: 'address:json:street,city', field: json },
};

/** @param argument such as `quantity:int:1..1000` */
export function parseField(argument, resource) {
  const [, name = '', optional = '', kind = '', options = '', initial] =
    /^([^:?]*)(\??)(?::([^:=]*)(?::([^=]*))?)?(?:=(.*))?$/.exec(argument) ?? [];
  const fail = (problem, example) => {
    throw new ArgumentError(`"${argument}": ${problem}; for example ${example}`);
  };
  if (!isName(name)) fail('a name is 1 to 30 letters and digits in camel case', KINDS.text.example);
  if (RESERVED.has(name.toLowerCase()) || name in Object.prototype)
    fail(`the name "${name}" is taken`, `${name}Value:text:100`);
  const known = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  if (known === undefined) fail(`a kind is one of ${Object.keys(KINDS).join(', ')}`, `${name}:text:100`);
  try {
    if (typeof known.field !== 'function' && options !== '') throw new RangeError(`nothing follows ${kind}`);
    const ofKind = typeof known.field === 'function' ? known.field(name, options, resource) : known.field;
    const checkName = `${resource.plural.replaceAll('-', '_')}_${name}`;
    const field = { name, isOptional: optional !== '', isReadOnly: false, checkName, ...ofKind };
    if (initial === undefined) return field;
    const value = defaultOf(kind, initial, field);
    // TypeORM compares the default of a decimal as a number.
    return { ...field, initial: value, columnDefault: kind === 'decimal' ? Number(value) : value };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return fail(error.message, known.example);
  }
}

const INTEGER = /^-?\d+$/;
const NUMBER = /^-?\d+(\.\d+)?$/;

const isName = (text) => /^[a-z][A-Za-z0-9]{0,29}$/.test(text);

const WITH_DEFAULT = ['bool', 'int', 'number', 'text', 'enum', 'decimal'];

function defaultOf(kind, text, { arguments: bounds, values = [], isOptional, least: floor = -Infinity }) {
  const [least = 0, most = 0] = bounds.map(Number);
  const isWithin = (value) => value >= least && value <= most;
  const value = Number(text);
  if (isOptional) throw new RangeError('a property has "?" or a default');
  if (kind === 'bool' && ['true', 'false'].includes(text)) return text === 'true';
  if (kind === 'int' && INTEGER.test(text) && isWithin(value)) return value;
  if (kind === 'number' && NUMBER.test(text) && isWithin(value)) return value;
  // TypeORM does not escape a quote.
  if (kind === 'text' && isWithin([...text].length) && !text.includes("'")) return text;
  if (kind === 'enum' && values.includes(text)) return text;
  if (kind === 'decimal' && isDecimal(text, bounds.map(Number)) && value >= floor) return text;
  if (!WITH_DEFAULT.includes(kind)) throw new RangeError('a property of this kind has no default');
  throw new RangeError(`"${text}" is no default of this property`);
}

function isDecimal(text, [precision, scale]) {
  const [, whole, fraction = ''] = /^-?(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  return whole !== undefined && whole.length <= precision - scale && fraction.length === scale;
}

const TEXT_LENGTH = 4000;

function text(name, options) {
  const [min, max] = rangeOf(/^\d+$/.test(options) ? `1..${options}` : options, /^\d+$/);
  if (max > TEXT_LENGTH || max < 1) throw new RangeError(`a text has 1 to ${TEXT_LENGTH} characters at most`);
  return {
    type: 'string',
    column: 'varchar',
    check: `hasLength('${name}', ${min}, ${max})`,
    decorator: 'TextProperty',
    arguments: [`${min}`, `${max}`],
    example: `'${`Some ${words(name)}`.slice(0, max).trimEnd().padEnd(min, 'x')}'`,
  };
}

function integer(name, options) {
  return { ...inRange(name, rangeOf(options, INTEGER)), column: 'integer', decorator: 'IntegerProperty' };
}

function number(name, options) {
  return { ...inRange(name, rangeOf(options, NUMBER)), column: 'double precision', decorator: 'NumberProperty' };
}

function inRange(name, [min, max]) {
  if (min === max) throw new RangeError('a range has more than one value');
  if (Math.max(-min, max) > Number.MAX_SAFE_INTEGER) throw new RangeError('a bound is beyond 2^53 - 1');
  return { type: 'number', check: `isBetween('${name}', ${min}, ${max})`, arguments: [`${min}`, `${max}`] };
}

/** @param form of a bound */
function rangeOf(options, form) {
  const bounds = options.split('..');
  if (bounds.length !== 2 || !bounds.every((bound) => form.test(bound))) {
    throw new RangeError(`"${options}" is no range from the least to the greatest`);
  }
  const [min, max] = bounds.map(Number);
  if (min > max) throw new RangeError(`${min} is more than ${max}`);
  return [min, max];
}

const DIGITS = 15;

const toNumber = (text) => (text === undefined ? undefined : Number(text));

function decimal(name, options) {
  const [, precision = 0, scale = 0, least] = (/^(\d+),(\d+)(?:,(\d+))?$/.exec(options) ?? []).map(toNumber);
  if (precision > DIGITS || precision - scale < 1) {
    throw new RangeError(`"${options}" is no precision up to ${DIGITS} and a smaller scale`);
  }
  const field = {
    type: 'string',
    column: 'decimal',
    columnOptions: { precision, scale },
    decorator: 'DecimalProperty',
    arguments: [`${precision}`, `${scale}`],
  };
  if (least === undefined) return field;
  const greatest = `${'9'.repeat(precision - scale)}${scale > 0 ? '.' : ''}${'9'.repeat(scale)}`;
  return { ...field, least, check: `isBetween('${name}', ${least}, ${greatest})` };
}

function enumeration(name, options, { singular }) {
  const values = options.split(',');
  if (!values.every((value) => /^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(value))) {
    throw new RangeError('the values are letters, digits, - and _, joined by commas');
  }
  if (values.length < 2 || new Set(values).size < values.length)
    throw new RangeError('it needs two values or more, each once');
  const enumName = `${singular}-${kebab(name)}`;
  const valuesName = constant(pluralOf(enumName));
  return {
    type: pascal(enumName),
    column: 'varchar',
    check: `isOneOf('${name}', ${valuesName})`,
    schema: constant(enumName),
    decorator: 'EnumProperty',
    arguments: [constant(enumName)],
    values,
    valuesName,
  };
}

function reference(_name, options, { plural, known }) {
  if (options === plural)
    throw new RangeError('the generator writes no reference of a resource to itself: add an optional one by hand');
  const parent = known.get(options);
  if (parent === undefined) {
    throw new RangeError(`"${options}" is no resource in src; there are ${[...known.keys()].join(', ')}`);
  }
  return {
    type: parent.ids === 'uuid' ? 'string' : 'number',
    column: parent.ids,
    decorator: 'IdProperty',
    arguments: [],
    reference: options,
    parent,
  };
}

function json(name, options, { singular }) {
  const texts = options.split(',');
  if (!texts.every((text) => isName(text) && !(text in Object.prototype)) || new Set(texts).size < texts.length)
    throw new RangeError('its first properties, which are texts, are names in camel case, joined by commas, each once');
  const type = pascal(`${singular}-${kebab(name)}`);
  return { type, column: 'simple-json', decorator: 'JsonProperty', arguments: [`() => ${type}Dto`], texts };
}
