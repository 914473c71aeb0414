/** Largest `limit`. */
export const MAX_LIMIT = 1000;

/**
 * The `Link` header (RFC 8288) to the next page; the other query parameters stay.
 * @param target path and query of this request
 * @param last its id, or its cursor
 */
export function nextPageLink(target: string, last: number | string): string {
  const url = new URL(target, 'http://localhost');
  url.searchParams.set('after', String(last));
  return `<${url.pathname}${url.search}>; rel="next"`;
}
