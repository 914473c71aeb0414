import { LRUCache } from 'lru-cache';

const converted = new LRUCache<string, string>({ max: 1000 });
const templates = new WeakMap<TemplateStringsArray, string>();

// Quoted strings and names are passed over: a question mark in them is none.
const TOKENS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\?/g;

/** SQL with `?` for each parameter as PostgreSQL wants it: `$1`, `$2`, ... */
export function numbered(sql: string): string {
  let statement = converted.get(sql);
  if (statement === undefined) {
    let count = 0;
    statement = sql.replace(TOKENS, (token) => (token === '?' ? `$${++count}` : token));
    converted.set(sql, statement);
  }
  return statement;
}

/** The SQL of a template; templates are constants, so each is put together once. */
export function textOf(strings: TemplateStringsArray): string {
  let statement = templates.get(strings);
  if (statement === undefined) {
    statement = strings.reduce((joined, part, index) => `${joined}$${index}${part}`);
    templates.set(strings, statement);
  }
  return statement;
}
