import { getMetadataArgsStorage } from 'typeorm';

/** The class of a resource's entity, or of its DTO. */
export type RecordClass<T = object> = new (...args: never[]) => T;

/** Whether a value is one that a column may have; it may doubt what is right, but never passes what is wrong. */
export type ColumnRule = (value: unknown) => boolean;

/** What a CHECK says of one column, in the forms that have a rule. */
const FORMS: readonly (readonly [form: RegExp, rule: (...parts: string[]) => ColumnRule])[] = [
  [/^"(\w+)" IN \(('[\w -]*'(?:, '[\w -]*')*)\)$/, (values) => isOneOf(values.slice(1, -1).split("', '"))],
  [/^length\("(\w+)"\) BETWEEN (\d+) AND (\d+)$/, (min, max) => hasLength(Number(min), Number(max))],
  [/^"(\w+)" BETWEEN (\d+) AND (\d+)$/, (min, max) => isWithin(Number(min), Number(max))],
];

function isOneOf(values: readonly string[]): ColumnRule {
  return (value) => values.includes(value as string);
}

function hasLength(min: number, max: number): ColumnRule {
  // In UTF-16 units, of which a code point has one or two.
  const shortest = min > 1 ? 2 * min : min;
  return (value) =>
    typeof value === 'string' &&
    value.length >= shortest &&
    value.length <= max &&
    !value.includes('\0') &&
    value.isWellFormed();
}

function isWithin(min: number, max: number): ColumnRule {
  return (value) => Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
}

const isId = isWithin(1, Number.MAX_SAFE_INTEGER);

/**
 * The rules of an entity's checks, by property. They are quick enough for millions of lines, and need neither a data source nor
 * class-validator.
 * @returns `undefined` for an entity with a column that has no CHECK in one of the forms
 */
export function columnRules(entity: RecordClass): ReadonlyMap<string, ColumnRule> | undefined {
  const { columns, checks } = getMetadataArgsStorage();
  const rules = new Map<string, ColumnRule>();
  for (const { target, propertyName, options } of columns) {
    if (target !== entity) continue;
    const rule = checks
      .filter((check) => check.target === entity)
      .map(({ expression }) => ruleOf(expression, options.name ?? propertyName))
      .find((each) => each !== undefined);
    if (rule === undefined || options.nullable) return undefined;
    rules.set(propertyName, rule);
  }
  return rules;
}

function ruleOf(expression: string, column: string): ColumnRule | undefined {
  for (const [form, rule] of FORMS) {
    const [, name, ...parts] = form.exec(expression) ?? [];
    if (name === column) return rule(...parts);
  }
  return undefined;
}

/** Whether a value is certainly a record of these columns, with an id or without. */
export function isObviouslyValid(rules: ReadonlyMap<string, ColumnRule>, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const record = value as Record<string, unknown>;
  for (const name in record) if (name !== 'id' && !rules.has(name)) return false;
  if (Object.hasOwn(record, 'id') && !isId(record['id'])) return false;
  for (const [name, rule] of rules) if (!rule(record[name])) return false;
  return true;
}
