import { LRUCache } from 'lru-cache';

const converted = new LRUCache<string, string>({ max: 1000 });
const templates = new WeakMap<TemplateStringsArray, string>();

// A placeholder, or a quoted string or name, in which a question mark is none.
const TOKENS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\?/g;

/** Replaces each `?` by `$1`, `$2`, ... for PostgreSQL. */
export function numbered(sql: string): string {
  let statement = converted.get(sql);
  if (statement === undefined) {
    let count = 0;
    statement = sql.replace(TOKENS, (token) => (token === '?' ? `$${++count}` : token));
    converted.set(sql, statement);
  }
  return statement;
}

/** The SQL of a template, cached because templates are constants. */
export function textOf(strings: TemplateStringsArray): string {
  let statement = templates.get(strings);
  if (statement === undefined) {
    statement = strings.reduce((joined, part, index) => `${joined}$${index}${part}`);
    templates.set(strings, statement);
  }
  return statement;
}
