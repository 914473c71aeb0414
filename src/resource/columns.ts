/** For `@Check`: the column has one of these values, each without quotes. */
export function isOneOf(column: string, values: readonly string[]): string {
  return `"${column}" IN (${values.map((value) => `'${value}'`).join(', ')})`;
}

/** For `@Check`: the column has so many Unicode code points. */
export function hasLength(column: string, min: number, max: number): string {
  return `length("${column}") BETWEEN ${min} AND ${max}`;
}
