/** The longest page a client may ask for. */
export const MAX_LIMIT = 1000;

/**
 * The `Link` field (RFC 8288) to the page after the one that ends with the record `last`, with the same query otherwise.
 * @param target path and query of this request
 * @param last its id, or its cursor
 */
export function nextPageLink(target: string, last: number | string): string {
  const url = new URL(target, 'http://localhost');
  url.searchParams.set('after', String(last));
  return `<${url.pathname}${url.search}>; rel="next"`;
}
