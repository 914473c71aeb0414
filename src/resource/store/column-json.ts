import type { Dialect } from '../../database/engine.js';

export type ColumnKind = 'integer' | 'real' | 'decimal' | 'string' | 'uuid' | 'boolean' | 'day' | 'date';

export interface JsonColumn {
  /** Column name in quotes, for SQL. */
  readonly name: string;
  readonly kind: ColumnKind;
  readonly isNullable: boolean;
  /** Digits of a decimal behind the point. */
  readonly scale?: number;
}

/** An SQL expression; if `isQuoted`, its value is JSON only inside double quotes. */
export interface JsonExpression {
  readonly expression: string;
  readonly isQuoted: boolean;
}

/** The SQL expression of a column as JSON. Its value equals that of `JSON.stringify`. */
export function columnJson(dialect: Dialect, column: JsonColumn): JsonExpression {
  const json = jsonOfValue(dialect, column);
  if (!column.isNullable) return json;
  const value = json.isQuoted ? `'"' || ${json.expression} || '"'` : `'' || ${json.expression}`;
  return { expression: `CASE WHEN ${column.name} IS NULL THEN 'null' ELSE ${value} END`, isQuoted: false };
}

function jsonOfValue(dialect: Dialect, { name, kind, scale = 0 }: JsonColumn): JsonExpression {
  switch (kind) {
    case 'integer':
      return { expression: name, isQuoted: false };
    case 'real':
      return { expression: dialect.jsonReal(name), isQuoted: false };
    case 'decimal':
      return { expression: dialect.decimal(name, scale), isQuoted: true };
    case 'uuid':
      return { expression: `CAST(${name} AS text)`, isQuoted: true };
    case 'string':
      return { expression: dialect.json(name), isQuoted: false };
    case 'boolean':
      return { expression: `CASE WHEN ${name} THEN 'true' ELSE 'false' END`, isQuoted: false };
    case 'day':
      return { expression: dialect.day(name), isQuoted: true };
    case 'date':
      return { expression: dialect.isoDate(name), isQuoted: true };
  }
}

/** The SQL expression of a record as a JSON object after a comma. */
export function elementJson(properties: readonly (readonly [name: string, json: JsonExpression])[]): string {
  const parts: string[] = [];
  let literal = ',{';
  for (const [name, { expression, isQuoted }] of properties) {
    const quote = isQuoted ? '"' : '';
    parts.push(`'${literal}${JSON.stringify(name)}:${quote}'`, expression);
    literal = `${quote},`;
  }
  return [...parts, `'${literal.slice(0, -1)}}'`].join(' || ');
}
