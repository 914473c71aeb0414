import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { engineInUse } from './support/engine.js';
import { CreateParcels1790000200000 } from './parcels/create-parcels.js';
import { ParcelsModule } from './parcels/parcels.module.js';
import { type Answer, Client, COOKIE, type Service, startService } from './support/service.js';

const SCOPE = 'cookies:read cookies:write parcels:read parcels:write';
const PARCEL = { customer: 'Ada', quantity: 12, status: 'open', cookieId: 1 } as const;
const CAPACITY = 50;

/** A second resource, made of the kit alone, keeps the promises that cookies keep. */
describe(`parcels, a resource of another team (${engineInUse()})`, () => {
  let service: Service;
  let client: Client;

  beforeEach(async () => {
    Logger.overrideLogger(false);
    service = await startService({ LOG_LEVEL: 'silent' }, [ParcelsModule], [new CreateParcels1790000200000()]);
    client = await Client.of(service, { scope: SCOPE });
    await client.post(COOKIE);
    await client.post(COOKIE);
  });

  afterEach(() => service.stop());

  const post = (values: object = {}): Promise<Answer> =>
    client.request('POST', '/parcels', { body: { ...PARCEL, ...values } });

  it('have the schema that their entity describes', async () => {
    const { driver } = service.app.get(DataSource);
    expect((await driver.createSchemaBuilder().log()).upQueries).toEqual([]);
  });

  it('POST returns 201 with the record, its Location and its ETag, and GET returns the same', async () => {
    const { status, body, headers } = await post({ customer: 'Ada "the first" 🍪' });
    expect({ status, body }).toEqual({ status: 201, body: { id: 1, ...PARCEL, customer: 'Ada "the first" 🍪' } });
    expect(Object.keys(body)).toEqual(['id', 'customer', 'quantity', 'status', 'cookieId']);
    expect(headers.get('location')).toBe('/parcels/1');
    const got = await client.get('/parcels/1');
    expect(got).toMatchObject({ status: 200, body });
    expect(got.headers.get('etag')).toBe(headers.get('etag'));
    expect((await client.get('/parcels')).text).toBe(`[${got.text}]`);
  });

  it.each<[string, object, string, string]>([
    ['a customer of 101 characters', { customer: 'x'.repeat(101) }, 'INVALID_REQUEST', '/customer'],
    ['a quantity of 0', { quantity: 0 }, 'INVALID_REQUEST', '/quantity'],
    ['another status', { status: 'lost' }, 'INVALID_REQUEST', '/status'],
    ['a property that it does not have', { price: 1 }, 'INVALID_REQUEST', '/price'],
    ['a cookie that does not exist', { cookieId: 99 }, 'REFERENCE_NOT_FOUND', '/cookieId'],
  ])('POST and PATCH return 400 with the pointer for %s', async (_name, values, errorCode, pointer) => {
    await post();
    const expected = { status: 400, body: { errorCode, details: [{ pointer }] } };
    expect(await post(values)).toMatchObject(expected);
    expect(await client.request('PATCH', '/parcels/1', { body: values })).toMatchObject(expected);
    expect((await client.get('/parcels')).headers.get('x-total-count')).toBe('1');
  });

  it('POST with a cookie that does not exist fails alone among others that arrive with it', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => post({ cookieId: 1 + (index % 4) })));
    expect(answers.map(({ status }) => status)).toEqual(answers.map((_, index) => (index % 4 < 2 ? 201 : 400)));
    expect((await client.get('/parcels')).body).toHaveLength(10);
  });

  it('DELETE of a cookie that a parcel refers to returns 409, and 204 once the parcel is gone', async () => {
    await post();
    const rejected = await client.request('DELETE', '/cookies/1');
    expect(rejected).toMatchObject({ status: 409, body: { errorCode: 'STILL_REFERENCED' } });
    expect((await client.get('/cookies/1')).status).toBe(200);
    expect((await client.request('DELETE', '/parcels/1')).status).toBe(204);
    expect((await client.request('DELETE', '/cookies/1')).status).toBe(204);
  });

  it('every method returns 404 with a code of its own for a parcel that does not exist', async () => {
    const error = { errorCode: 'PARCEL_NOT_FOUND', message: 'There is no parcel 7' };
    expect(await client.get('/parcels/7')).toMatchObject({ status: 404, body: error });
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const body = method === 'DELETE' ? undefined : PARCEL;
      expect(await client.request(method, '/parcels/7', { body })).toMatchObject({ status: 404, body: error });
    }
  });

  it('PUT and PATCH change the ETag, or leave it where nothing changes; If-Match with an old one is 412', async () => {
    const first = (await post()).headers.get('etag')!;
    const same = await client.request('PUT', '/parcels/1', { body: PARCEL, headers: { 'if-match': first } });
    expect([same.status, same.headers.get('etag')]).toEqual([200, first]);
    const changed = await client.request('PATCH', '/parcels/1', {
      body: { status: 'paid', quantity: 13 },
      headers: { 'if-match': first },
    });
    const second = changed.headers.get('etag')!;
    expect([changed.status, second === first]).toEqual([204, false]);
    expect((await client.get('/parcels/1')).body).toEqual({ id: 1, ...PARCEL, status: 'paid', quantity: 13 });
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const body = method === 'DELETE' ? undefined : PARCEL;
      expect((await client.request(method, '/parcels/1', { body, headers: { 'if-match': first } })).status).toBe(412);
    }
    expect((await client.get('/parcels/1', { 'if-none-match': second })).status).toBe(304);
    expect((await client.get('/parcels/1', { 'if-none-match': first })).status).toBe(200);
  });

  it('GET of the list returns 304 until a parcel changes, whatever cookies do', async () => {
    await post();
    const etag = (await client.get('/parcels')).headers.get('etag')!;
    await client.post(COOKIE);
    expect((await client.get('/parcels', { 'if-none-match': etag })).status).toBe(304);
    await post();
    expect((await client.get('/parcels', { 'if-none-match': etag })).status).toBe(200);
  });

  it('GET of pages leads through all parcels in both directions, filtered or not', async () => {
    for (let index = 0; index < 9; index++) {
      await post({ status: index % 3 === 0 ? 'paid' : 'open', cookieId: 1 + (index % 2) });
    }
    const walk = async (query: string): Promise<number[][]> => {
      const pages: number[][] = [];
      for (let path: string | undefined = `/parcels?${query}`; path !== undefined && pages.length < 10;) {
        const { body, headers } = await client.get(path);
        pages.push(body.map(({ id }: { id: number }) => id));
        path = /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];
      }
      return pages;
    };
    expect(await walk('limit=4')).toEqual([[1, 2, 3, 4], [5, 6, 7, 8], [9]]);
    expect(await walk('limit=4&sort=-id')).toEqual([[9, 8, 7, 6], [5, 4, 3, 2], [1]]);
    expect(await walk('limit=2&status=paid')).toEqual([[1, 4], [7]]);
    expect(await walk('limit=3&status=paid&status=open&cookieId=2')).toEqual([[2, 4, 6], [8]]);
    expect(await walk('cookieId=2&cookieId=1')).toEqual([[1, 2, 3, 4, 5, 6, 7, 8, 9]]);
    expect(await walk('status=shipped')).toEqual([[]]);
    expect((await client.get('/parcels?limit=1')).headers.get('x-total-count')).toBe('9');
    expect((await client.get('/parcels?status=paid')).headers.get('x-total-count')).toBeNull();
  });

  it.each(['cookieId=0', 'cookieId=x', 'cookieId=1&cookieId=1', 'status=lost', 'customer=Ada', 'limit=0'])(
    'GET of the list returns 400 for ?%s',
    async (query) => {
      const parameter = query.split('=')[0];
      expect(await client.get(`/parcels?${query}`)).toMatchObject({ status: 400, body: { details: [{ parameter }] } });
    },
  );

  it('GET of the list returns 400 that names the parameters in the order of the document', async () => {
    const unknown = await client.get('/parcels?colour=red');
    expect(unknown.body.message).toBe('colour: is not known here; known are limit, after, sort, status, cookieId');
    const { body } = await client.get('/parcels?cookieId=0&status=lost&after=x&limit=0');
    const names = body.details.map(({ parameter }: { parameter: string }) => parameter);
    expect(names).toEqual(['limit', 'after', 'status', 'cookieId']);
  });

  it('of 64 racing POSTs 50 find a place and 14 get 507; a DELETE frees one place', async () => {
    const answers = await Promise.all(Array.from({ length: 64 }, () => post()));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(CAPACITY);
    expect(statuses.filter((status) => status === 507)).toHaveLength(64 - CAPACITY);
    expect((await client.get('/parcels')).body).toHaveLength(CAPACITY);
    expect((await client.request('DELETE', '/parcels/5')).status).toBe(204);
    const late = await Promise.all([post(), post()]);
    expect(late.map(({ status }) => status).sort()).toEqual([201, 507]);
  });

  it('need scopes of their own', async () => {
    const other = await Client.of(service, { scope: 'cookies:read cookies:write' });
    expect((await other.get('/parcels')).status).toBe(403);
    expect((await other.request('POST', '/parcels', { body: PARCEL })).status).toBe(403);
  });

  it('are described in the document, each error by what is thrown', async () => {
    const { paths } = (await (await fetch(`${service.url}/openapi.json`)).json()) as any;
    const operations = Object.values<any>(paths['/parcels']).concat(Object.values(paths['/parcels/{id}']));
    expect(operations.map(({ operationId }) => operationId)).toEqual(
      ['list', 'create', 'get', 'replace', 'patch', 'delete'].map(
        (verb) => `${verb}Parcel${verb === 'list' ? 's' : ''}`,
      ),
    );
    const errorOf = (operation: any, status: number, name: string): object =>
      operation.responses[status].content['application/json'].examples[name].value;
    const { requestId: _, ...missing } = (await post({ cookieId: 99 })).body;
    expect(errorOf(paths['/parcels'].post, 400, 'reference')).toMatchObject(missing);
    const { requestId: __, ...invalid } = (await post({ customer: null })).body;
    expect(errorOf(paths['/parcels'].post, 400, 'member')).toMatchObject(invalid);
    const { requestId: ___, ...absent } = (await client.get('/parcels/1')).body;
    expect(errorOf(paths['/parcels/{id}'].get, 404, 'absent')).toMatchObject(absent);
    const { requestId: ____, ...unknown } = (await client.get('/parcels?colour=red')).body;
    expect(errorOf(paths['/parcels'].get, 400, 'name')).toMatchObject(unknown);
  });
});
