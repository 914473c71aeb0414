import { LRUCache } from 'lru-cache';

const texts = new LRUCache<string, string>({ max: 1000 });
const templates = new WeakMap<TemplateStringsArray, string>();

// Quoted texts and names are passed over: a question mark in them is none.
const TOKENS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\?/g;

/** A text with `?` for each parameter as PostgreSQL wants it: `$1`, `$2`, ... */
export function numbered(sql: string): string {
  let text = texts.get(sql);
  if (text === undefined) {
    let count = 0;
    text = sql.replace(TOKENS, (token) => (token === '?' ? `$${++count}` : token));
    texts.set(sql, text);
  }
  return text;
}

/** The text of a template; templates are constants, so each is put together once. */
export function textOf(strings: TemplateStringsArray): string {
  let text = templates.get(strings);
  if (text === undefined) {
    text = strings.reduce((joined, part, index) => `${joined}$${index}${part}`);
    templates.set(strings, text);
  }
  return text;
}
