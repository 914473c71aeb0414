// Uses the service through `openapi-fetch` with the types of `openapi-typescript`, and prints the results.
import createClient from 'openapi-fetch';
import type { components, paths } from './openapi-fetch-schema.js';

type Cookie = components['schemas']['CookieDto'];
type ErrorBody = components['schemas']['ErrorDto'];
type ErrorDetail = components['schemas']['ErrorDetail'];

const [, , baseUrl = '', token = '', readToken = ''] = process.argv;

const clientWith = (bearer: string) =>
  createClient<paths>({ baseUrl, headers: bearer === '' ? {} : { authorization: `Bearer ${bearer}` } });
const client = clientWith(token);

const wanted = { flavor: 'vanilla', size: 'small', wish: '🍪' } as const;

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('There is no body');
  return value;
}

async function create(cookie: components['schemas']['CreateCookieDto']): Promise<Cookie> {
  return present((await client.POST('/cookies', { body: cookie })).data);
}

async function pages(limit: number): Promise<number[][]> {
  const all: number[][] = [];
  let after = 0;
  // A limit of four pages, one more than there should be.
  for (let page = 0; page < 4; page++) {
    const { data, response } = await client.GET('/cookies', { params: { query: { limit, after } } });
    const ids = present(data).map(({ id }) => id);
    all.push(ids);
    after = ids.at(-1) ?? after;
    if (!response.headers.has('link')) break;
  }
  return all;
}

const summary = ({ statusCode, errorCode, details }: ErrorBody) => ({
  statusCode,
  errorCode,
  ...(details && { details: details.map(({ pointer, parameter }: ErrorDetail) => ({ pointer, parameter })) }),
});

async function work() {
  const first = await create(wanted);
  const second = await create({ ...wanted, flavor: 'chocolate' });
  const third = await create({ ...wanted, size: 'large' });
  // Without casts, values of a record that was read are valid as a filter and as the body of PUT.
  const alike = await client.GET('/cookies', { params: { query: { flavor: [first.flavor], sort: '-id' } } });
  const read = await client.GET('/cookies/{id}', { params: { path: { id: second.id } } });
  const { flavor, size } = present(read.data);
  const etag = read.response.headers.get('etag') ?? '';
  const path = { id: second.id };
  const again = await client.GET('/cookies/{id}', { params: { path, header: { 'If-None-Match': etag } } });
  const replaced = await client.PUT('/cookies/{id}', {
    params: { path, header: { 'If-Match': etag } },
    body: { flavor, size },
  });
  const patched = await client.PATCH('/cookies/{id}', { params: { path }, body: { size: third.size } });
  const now = await client.GET('/cookies/{id}', { params: { path } });
  return {
    created: [first, second, third],
    pages: await pages(2),
    alike: present(alike.data).map(({ id }) => id),
    unchanged: again.response.status,
    replaced: replaced.data,
    patched: patched.response.status,
    now: now.data,
    etag,
  };
}

async function errors(stale: string) {
  const path = { id: 2 };
  const body = wanted;
  const results = [
    // @ts-expect-error A size is no flavor.
    await client.POST('/cookies', { body: { ...body, flavor: 'small' } }),
    await client.GET('/cookies', { params: { query: { limit: 0 } } }),
    await client.GET('/cookies/{id}', { params: { path: { id: 0 } } }),
    await clientWith('').GET('/cookies'),
    await clientWith(readToken).POST('/cookies', { body }),
    await client.GET('/cookies/{id}', { params: { path: { id: 4242 } } }),
    await client.DELETE('/cookies/{id}', { params: { path, header: { 'If-Match': stale } } }),
    await client.POST('/cookies', { body: { ...body, wish: 'x'.repeat(20_000) } }),
    await client.GET('/cookies', { headers: { 'x-padding': 'x'.repeat(20_000) } }),
    await client.POST('/cookies', { body }),
  ];
  return results.map(({ error }) => summary(present<ErrorBody>(error)));
}

const worked = await work();
const seen = { ...worked, errors: await errors(worked.etag), deleted: [] as number[] };
for (const { id } of worked.created) {
  const { response } = await client.DELETE('/cookies/{id}', { params: { path: { id } } });
  seen.deleted.push(response.status);
}
process.stdout.write(JSON.stringify(seen));
