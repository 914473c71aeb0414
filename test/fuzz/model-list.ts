import type { HttpResponse } from '../support/http-response.js';
import type { KnownRecord } from './model-records.js';

type Cookie = Pick<KnownRecord, 'id' | 'flavor' | 'size' | 'wish'>;

const same = (a: Cookie, b: Cookie): boolean =>
  a.id === b.id && a.flavor === b.flavor && a.size === b.size && a.wish === b.wish;

/**
 * Finds errors in a list: records of this client must be correct, all others in order and matching the query.
 * @param isOwn tells whether a record belongs to this client
 */
export function listViolation(
  response: HttpResponse,
  query: readonly [string, string][],
  own: readonly Cookie[],
  isOwn: (cookie: Cookie) => boolean,
): string | undefined {
  const cookies = JSON.parse(response.content.toString()) as Cookie[];
  const valuesOf = (wanted: string): string[] => query.filter(([name]) => name === wanted).map(([, value]) => value);
  const sign = valuesOf('sort')[0] === '-id' ? -1 : 1;
  const after = Number(valuesOf('after')[0] ?? 0);
  const limit = Number(valuesOf('limit')[0] ?? Infinity);
  const [flavors, sizes] = [valuesOf('flavor'), valuesOf('size')];
  const fits = ({ id, flavor, size }: Cookie): boolean =>
    (flavors.length === 0 || flavors.includes(flavor)) &&
    (sizes.length === 0 || sizes.includes(size)) &&
    (after === 0 || sign * (id - after) > 0);
  const isOrdered = cookies.every((cookie, index) => index === 0 || sign * (cookie.id - cookies[index - 1]!.id) > 0);
  if (!isOrdered) return 'The list is out of order';
  if (!cookies.every(fits)) return 'The list has a record that does not fit the query';
  if (cookies.length > limit) return `The page has ${cookies.length} records instead of ${limit}`;
  const link = response.headers.get('link');
  if (link !== undefined && cookies.length < limit) return 'A page that is not full leads to another';
  const last = cookies.at(-1)?.id;
  if (link !== undefined && !link.includes(`after=${last}`)) return `The next page begins elsewhere: ${link}`;
  const isCovered = ({ id }: Cookie): boolean => link === undefined || sign * (id - last!) <= 0;
  const expected = own.filter((cookie) => fits(cookie) && isCovered(cookie)).sort((a, b) => sign * (a.id - b.id));
  const found = cookies.filter(isOwn);
  const isExact = expected.length === found.length && expected.every((cookie, index) => same(cookie, found[index]!));
  return isExact
    ? undefined
    : `The list has ${JSON.stringify(found)} of this client instead of ${JSON.stringify(expected)}`;
}
