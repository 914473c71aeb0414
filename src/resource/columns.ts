import { Column, ForeignKey, Index } from 'typeorm';

/** The CHECK of an enum column; `values` are written without quotes. */
export function isOneOf(column: string, values: readonly string[]): string {
  return `"${column}" IN (${values.map((value) => `'${value}'`).join(', ')})`;
}

/** The CHECK of a text column: its length in Unicode code points. */
export function hasLength(column: string, min: number, max: number): string {
  return `length("${column}") BETWEEN ${min} AND ${max}`;
}

/** The CHECK of a number column: a range that includes both ends. */
export function isBetween(column: string, min: number, max: number): string {
  return `"${column}" BETWEEN ${min} AND ${max}`;
}

/**
 * A foreign key to a record of another resource. A write with an unknown id is 400; the deletion of a referenced record is 409.
 * The other entity is given by its name, because a feature does not import the entity of another one.
 */
export function References(
  entity: string,
  { nullable = false }: { readonly nullable?: boolean } = {},
): PropertyDecorator {
  return (target, property) => {
    Column('integer', { nullable })(target, property);
    Index()(target, property);
    ForeignKey(entity, { onDelete: 'RESTRICT' })(target, property);
  };
}
