// Uses the service through the client that `oazapfts` makes, and prints the results.
import {
  type CookieDto,
  type CreateCookieDto,
  createCookie,
  defaults,
  deleteCookie,
  type ErrorDetail,
  type ErrorDto,
  getCookie,
  listCookies,
  patchCookie,
  replaceCookie,
} from './oazapfts-client.js';

const [, , baseUrl = '', token = '', readToken = ''] = process.argv;

defaults.baseUrl = baseUrl;
defaults.headers = { authorization: `Bearer ${token}` };

const wanted: CreateCookieDto = { flavor: 'vanilla', size: 'small', wish: '🍪' };

interface Response {
  readonly status: number;
  readonly headers: Headers;
}

/** Requires a status, and narrows the type of the response to it. */
function expected<R extends Response, S extends R['status']>(response: R, status: S): Extract<R, { status: S }> {
  if (response.status !== status) throw new Error(`The status is ${response.status}, not ${status}`);
  return response as Extract<R, { status: S }>;
}

async function create(cookie: CreateCookieDto): Promise<CookieDto> {
  return expected(await createCookie(cookie), 201).data;
}

async function pages(limit: number): Promise<number[][]> {
  const all: number[][] = [];
  let after = 0;
  // A limit of four pages, one more than there should be.
  for (let page = 0; page < 4; page++) {
    const { data, headers } = expected(await listCookies({ limit, after }), 200);
    const ids = data.map(({ id }) => id);
    all.push(ids);
    after = ids.at(-1) ?? after;
    if (!headers.has('link')) break;
  }
  return all;
}

const summary = ({ statusCode, errorCode, details }: ErrorDto) => ({
  statusCode,
  errorCode,
  ...(details && { details: details.map(({ pointer, parameter }: ErrorDetail) => ({ pointer, parameter })) }),
});

async function work() {
  const first = await create(wanted);
  const second = await create({ ...wanted, flavor: 'chocolate' });
  const third = await create({ ...wanted, size: 'large' });
  // Without casts, values of a record that was read are valid as a filter and as the body of PUT.
  const alike = expected(await listCookies({ flavor: [first.flavor], sort: '-id' }), 200);
  const read = expected(await getCookie(second.id), 200);
  const { flavor, size } = read.data;
  const etag = read.headers.get('etag') ?? '';
  const again = expected(await getCookie(second.id, { ifNoneMatch: etag }), 304);
  const replaced = expected(await replaceCookie(second.id, { flavor, size }, { ifMatch: etag }), 200);
  const patched = expected(await patchCookie(second.id, { size: third.size }), 204);
  const now = expected(await getCookie(second.id), 200);
  return {
    created: [first, second, third],
    pages: await pages(2),
    alike: alike.data.map(({ id }) => id),
    unchanged: again.status,
    replaced: replaced.data,
    patched: patched.status,
    now: now.data,
    etag,
  };
}

async function errors(stale: string) {
  const bearing = (bearer: string) => ({ headers: { authorization: bearer } });
  const results = [
    // @ts-expect-error A size is no flavor.
    expected(await createCookie({ ...wanted, flavor: 'small' }), 400),
    expected(await listCookies({ limit: 0 }), 400),
    expected(await getCookie(0), 400),
    expected(await listCookies({}, bearing('')), 401),
    expected(await createCookie(wanted, {}, bearing(`Bearer ${readToken}`)), 403),
    expected(await getCookie(4242), 404),
    expected(await deleteCookie(2, { ifMatch: stale }), 412),
    expected(await createCookie({ ...wanted, wish: 'x'.repeat(20_000) }), 413),
    expected(await listCookies({}, { headers: { 'x-padding': 'x'.repeat(20_000) } }), 431),
    expected(await createCookie(wanted), 507),
  ];
  return results.map(({ data }) => summary(data));
}

const worked = await work();
const seen = { ...worked, errors: await errors(worked.etag), deleted: [] as number[] };
for (const { id } of worked.created) seen.deleted.push((await deleteCookie(id)).status);
process.stdout.write(JSON.stringify(seen));
