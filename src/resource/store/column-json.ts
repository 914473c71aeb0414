import type { DataSource } from 'typeorm';
import { engineOf } from '../../database/engine.js';

export type ColumnKind = 'integer' | 'real' | 'string' | 'boolean' | 'date';

export interface JsonColumn {
  /** Quoted, as it stands in SQL. */
  readonly name: string;
  readonly kind: ColumnKind;
  readonly isNullable: boolean;
  /** Whether its strings need no escaping. */
  readonly isPlain: boolean;
}

/** An SQL expression, and whether quotes around its value make it JSON. */
export interface JsonExpression {
  readonly expression: string;
  readonly isQuoted: boolean;
}

/** How the engine writes a column's value as JSON, equal to what `JSON.stringify` writes; strings byte for byte. */
export function columnJson(dataSource: DataSource, column: JsonColumn): JsonExpression {
  const json = jsonOfValue(dataSource, column);
  if (!column.isNullable) return json;
  const value = json.isQuoted ? `'"' || ${json.expression} || '"'` : `'' || ${json.expression}`;
  return { expression: `CASE WHEN ${column.name} IS NULL THEN 'null' ELSE ${value} END`, isQuoted: false };
}

function jsonOfValue(dataSource: DataSource, { name, kind, isPlain }: JsonColumn): JsonExpression {
  const isPostgres = dataSource.options.type === 'postgres';
  switch (kind) {
    case 'integer':
      return { expression: name, isQuoted: false };
    case 'real':
      return { expression: isPostgres ? `to_json(${name})` : sqliteReal(name), isQuoted: false };
    case 'string':
      if (isPlain) return { expression: name, isQuoted: true };
      return { expression: engineOf(dataSource).dialect.json(name), isQuoted: false };
    case 'boolean':
      return { expression: `CASE WHEN ${name} THEN 'true' ELSE 'false' END`, isQuoted: false };
    case 'date':
      return { expression: isPostgres ? postgresDate(name) : sqliteDate(name), isQuoted: true };
  }
}

/** Fifteen digits where they are exact, seventeen where they are not: SQLite's own JSON always has fifteen. */
function sqliteReal(name: string): string {
  const short = `printf('%!.15g', ${name})`;
  return `CASE WHEN CAST(${short} AS REAL) = ${name} THEN ${short} ELSE printf('%!.17g', ${name}) END`;
}

const sqliteDate = (name: string): string => `strftime('%Y-%m-%dT%H:%M:%fZ', ${name})`;

/** TypeORM's dates have no time zone on PostgreSQL, and node-postgres takes them for those of the process. */
function postgresDate(name: string): string {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return `to_char((${name} AT TIME ZONE '${timeZone}') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** An SQL expression for a JSON object of these properties, in their order. */
export function objectJson(properties: readonly (readonly [name: string, json: JsonExpression])[]): string {
  const parts: string[] = [];
  let literal = '{';
  for (const [name, { expression, isQuoted }] of properties) {
    const quote = isQuoted ? '"' : '';
    parts.push(`'${literal}${JSON.stringify(name)}:${quote}'`, expression);
    literal = `${quote},`;
  }
  return [...parts, `'${literal.slice(0, -1)}}'`].join(' || ');
}
