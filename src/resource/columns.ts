import { Column, ForeignKey, Index } from 'typeorm';

/** For `@Check`: the column has one of these values, each without quotes. */
export function isOneOf(column: string, values: readonly string[]): string {
  return `"${column}" IN (${values.map((value) => `'${value}'`).join(', ')})`;
}

/** For `@Check`: the column has so many Unicode code points. */
export function hasLength(column: string, min: number, max: number): string {
  return `length("${column}") BETWEEN ${min} AND ${max}`;
}

/** For `@Check`: the column has a number from `min` to `max`. */
export function isBetween(column: string, min: number, max: number): string {
  return `"${column}" BETWEEN ${min} AND ${max}`;
}

/**
 * A column with the id of a record of another resource: a write that names none is 400, the deletion of a record that is named
 * is 409. The other entity is named by a string, since a feature does not import another's entity.
 */
export function References(entity: string): PropertyDecorator {
  return (target, property) => {
    Column('integer')(target, property);
    Index()(target, property);
    ForeignKey(entity, { onDelete: 'RESTRICT' })(target, property);
  };
}
